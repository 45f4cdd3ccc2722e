"""The permissions of the members of organizations, as an authentication backend of Django."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.contrib.auth.backends import BaseBackend
from django.db.models import Model, Q, QuerySet

from ...models import Resource
from .models import Dataset, MemberGroup, Membership, Role, get_metadata

_EDITORS: Final = (Role.EDITOR, Role.ADMIN)

#: The roles that have a permission for an object, by its codename.
_ROLES: Final[dict[str, Sequence[Role]]] = {
    **dict.fromkeys(("view_resource", "view_dataset", "view_membergroup"), tuple(Role)),
    **dict.fromkeys(("add_resource", "change_resource", "delete_resource"), _EDITORS),
    **dict.fromkeys(("add_dataset", "change_dataset", "delete_dataset"), _EDITORS),
    "change_membergroup": (Role.ADMIN,),
}


class OrganizationBackend(BaseBackend):
    """
    Gives the members of an organization permissions for its datasets, and for itself.

    A resource belongs to the organization of its dataset.  A permission to add is that for an
    object that is not saved yet, and has an ``owner_org``; without a primary key it stands for any.

    Source: CKAN's roles ``admin``, ``editor`` and ``member``.
    """

    def has_perm(self, user_obj: Any, perm: str, obj: Model | None = None) -> bool:
        if not isinstance(obj, Resource | Dataset | MemberGroup):
            return False
        if obj._state.adding:  # takes one statement too, as for a resource that does not exist
            row = get_metadata(obj) if isinstance(obj, Resource) else obj
            owner = getattr(row, "owner_org_id", None)
            memberships = find_memberships(user_obj, perm)
            return (
                memberships if obj.pk is None else memberships.filter(group=owner or "")
            ).exists()
        rows = type(obj).objects.using(obj._state.db).filter(pk=obj.pk)
        return self.filter_permitted(user_obj, [perm], rows).exists()

    def filter_permitted(
        self, user: Any, permissions: Sequence[str], objects: QuerySet[Any]
    ) -> QuerySet[Any]:
        """Keep the objects for which a user has one of some permissions."""
        groups = find_memberships(user, *permissions).values("group")
        owned = Q(part_of=None, owner_org__in=groups) | Q(part_of__owner_org__in=groups)
        if objects.model is Dataset:
            return objects.filter(owned)
        if objects.model is Resource:
            return objects.filter(pk__in=Dataset.objects.filter(owned).values("resource"))
        return objects.filter(pk__in=groups) if objects.model is MemberGroup else objects.none()


def find_memberships(user: Any, *permissions: str) -> QuerySet[Membership]:
    """Find the memberships of a user whose roles have one of some permissions."""
    roles = {role for each in permissions for role in _ROLES.get(each.rpartition(".")[2], ())}
    if not getattr(user, "is_active", False):
        return Membership.objects.none()
    return Membership.objects.filter(user=user.pk, role__in=roles, group__is_deleted=False)

"""
Find the objects for which a user has a permission, with as few checks as the backends allow.

Django checks a permission for one object at a time.  A list of objects needs one condition: most
portals have no backend with permissions for single objects, django-guardian finds them by a query,
and other backends are called for a limited number of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from django.apps import apps
from django.contrib.auth import get_backends
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import AnonymousUser, PermissionsMixin
from django.db.models import Q, QuerySet

#: For which a backend is called one by one.
MAX_CHECKED_OBJECTS: Final = 1_000

#: A backend may offer a method of this name, which takes a user, names of permissions and a
#: QuerySet, and returns the objects of the QuerySet for which the user has one of the permissions.
HOOK: Final = "filter_permitted"

_NOTHING: Final = Q(pk__in=())
_EVERYTHING: Final = ~_NOTHING

#: The methods of Django's own backends, which find no permissions for an object.
_LOOKUPS: Final = (
    "has_perm",
    "get_all_permissions",
    "get_group_permissions",
    "get_user_permissions",
    "_get_permissions",
)


@dataclass(frozen=True, slots=True)
class Permitted:
    """
    The objects that a user has a permission for, as a condition on a QuerySet.

    Some are missing unless ``is_complete``: there were more than a backend may be called for.
    """

    condition: Q
    is_complete: bool = True

    @property
    def is_everything(self) -> bool:
        return self.condition == _EVERYTHING


def has_permission(user: Any, permission: str, obj: Any = None) -> bool:
    """Check a permission in general, then for an object; some user models have no permissions."""
    has_perm = getattr(user, "has_perm", None)
    if has_perm is None:
        return False
    return bool(has_perm(permission) or (obj is not None and has_perm(permission, obj)))


def find_permitted(
    user: Any, permissions: Sequence[str], objects: QuerySet[Any], *, max_checked: int | None = None
) -> Permitted:
    """
    Find the objects for which a user has one of some permissions, in general or for each.

    A backend that cannot find objects by a query is called for at most ``max_checked`` of them;
    ``MAX_CHECKED_OBJECTS`` if that is None.
    """
    if not hasattr(user, "has_perm"):
        return Permitted(_NOTHING)
    if any(user.has_perm(permission) for permission in permissions):
        return Permitted(_EVERYTHING)
    # Django's own user models ask the backends alone.  The user of a session is a lazy object,
    # whose real class is ``__class__``.
    if user.__class__.has_perm in {PermissionsMixin.has_perm, AnonymousUser.has_perm}:
        results = [_find_by_query(each, user, permissions, objects) for each in get_backends()]
        conditions = [condition for condition in results if condition is not None]
        if len(conditions) == len(results):
            return Permitted(reduce(or_, conditions, _NOTHING))
    if max_checked is None:
        max_checked = MAX_CHECKED_OBJECTS
    candidates = list(objects.order_by("pk")[: max_checked + 1])
    permitted = [
        each.pk
        for each in candidates[:max_checked]
        if any(user.has_perm(permission, each) for permission in permissions)
    ]
    return Permitted(Q(pk__in=permitted), is_complete=len(candidates) <= max_checked)


def _find_by_query(
    backend: Any, user: Any, permissions: Sequence[str], objects: QuerySet[Any]
) -> Q | None:
    """Find objects by a query; None if the backend has to be called for each object."""
    if hasattr(backend, HOOK):
        return Q(pk__in=getattr(backend, HOOK)(user, permissions, objects).values("pk"))
    kind = type(backend)
    is_plain = isinstance(backend, BaseBackend) and all(
        getattr(kind, name, None) in {getattr(BaseBackend, name, None), getattr(ModelBackend, name)}
        for name in _LOOKUPS
    )
    if is_plain or not hasattr(kind, "has_perm"):
        return _NOTHING
    if not apps.is_installed("guardian"):
        return None
    from guardian import backends, shortcuts  # noqa: PLC0415 - a portal may have it

    if kind.has_perm is not backends.ObjectPermissionBackend.has_perm:
        return None
    is_supported, guardian_user = backends.check_user_support(user)
    if not is_supported or not guardian_user.is_active:
        return _NOTHING
    objects = shortcuts.get_objects_for_user(
        guardian_user, list(permissions), objects.model, any_perm=True, with_superuser=False
    )
    return Q(pk__in=objects.order_by().values("pk"))

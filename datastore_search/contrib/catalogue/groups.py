"""
Organizations and groups: those that are rows with members, and those that only datasets name.

Source: CKAN's actions ``organization_*`` and ``group_*``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import connections, router
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Action, Answer, write_time
from ...api.actions.users import describe_user, find_user
from ...api.authentication import build_write_refusal, get_reader
from ...api.new_resources import WordsField
from ...api.parameters import ActionParameters, ChoiceField, ObjectsField, TextField, make_printable
from ...database.statements import RowToLock, begin_write_transaction, lock_aliases
from ...field_types import is_storable
from ...messages.access import AccessDenied, UnknownResource
from ...models.object_permissions import has_permission
from .datasets import Datasets, open_public_datasets
from .descriptions import describe_group, describe_organization
from .models import Dataset, Group, MemberGroup, Organization, Role, build_id
from .permissions import find_memberships
from .sync import lock_resources

_APP: Final = "datastore_search_catalogue"

#: Of one organization or group in one answer.
MAX_SHOWN_MEMBERS: Final = 1_000


class UnknownGroup(UnknownResource):
    message = _("Not found: Group “%(group)s” was not found.")


class GroupDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not change “%(group)s”.")


class NewGroupDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not add organizations or groups.")


class OwnerDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not add a dataset to this organization.")


# Reading ------------------------------------------------------------------------------------------

Kind = type[Group]


def find_rows(kind: Kind, name: str) -> QuerySet[MemberGroup]:
    """Find the row with an id or a name."""
    rows = MemberGroup.objects.filter(is_organization=kind is Organization)
    return rows.filter(Q(pk=name) | Q(name=name))


def list_groups(datasets: Datasets, kind: Kind) -> list[tuple[MemberGroup, int]]:
    """List the groups of a kind that are rows, and those of datasets alone, with their counts."""
    is_organization = kind is Organization
    named = datasets.list_organizations() if is_organization else datasets.list_groups()
    listed = {
        group.name: (MemberGroup(is_organization=is_organization, **group.to_json()), count)
        for group, count in named
    }
    rows = MemberGroup.objects.using(datasets.resources.db).filter(is_deleted=False)
    for row in rows.filter(is_organization=is_organization):
        listed[row.name] = row, listed.get(row.name, (row, 0))[1]
    return [listed[name] for name in sorted(listed)]


def describe_row(row: MemberGroup, count: int = 0) -> dict[str, Any]:
    return {
        **describe_organization(row.to_group()),
        **describe_group(row.to_group()),
        "created": write_time(row.created_at),
        "num_followers": 0,
        "package_count": count,
        "state": "deleted" if row.is_deleted else "active",
    }


def describe_fully(request: Request, row: MemberGroup, count: int = 0) -> dict[str, Any]:
    """Describe the extras, too, and the members to those who may see them."""
    is_shown = not row._state.adding and permits(request, "view", row)
    members = row.memberships.values_list("user", "role") if is_shown else ()
    roles = dict(members[:MAX_SHOWN_MEMBERS])
    users = get_user_model()._default_manager.in_bulk(roles)
    return {
        **describe_row(row, count),
        "extras": [{"key": key, "value": value} for key, value in row.extras.items()],
        "groups": [],
        "tags": [],
        "users": [{**describe_user(user), "capacity": roles[pk]} for pk, user in users.items()],
    }


def permits(request: Request | HttpRequest, verb: str, row: MemberGroup | None = None) -> bool:
    return has_permission(get_reader(request), f"{_APP}.{verb}_membergroup", row)


#: What CKAN's permissions mean here; another one is for ``admin`` alone.
_CKAN_PERMISSIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("read", "manage_group"), "view_membergroup"),
    "create_dataset": "add_dataset",
    "update_dataset": "change_dataset",
    "delete_dataset": "delete_dataset",
}


def list_groups_of_user(request: Request, kind: Kind, permission: str) -> list[dict[str, Any]]:
    """List the groups in which a user has a permission of CKAN's, each with the ``capacity``."""
    needed = _CKAN_PERMISSIONS.get(permission, "change_membergroup")
    roles = dict(find_memberships(get_reader(request), needed).values_list("group", "role"))
    rows = MemberGroup.objects.filter(is_organization=kind is Organization, is_deleted=False)
    if not permits(request, "change"):
        rows = rows.filter(pk__in=roles)
    return [{**describe_row(row), "capacity": roles.get(row.pk, Role.ADMIN)} for row in rows]


# Of datasets --------------------------------------------------------------------------------------


def find_owner_org(
    request: Request, sent: object, current: str | None = None, *, is_locked: bool = False
) -> MemberGroup | None:
    """
    Find the organization, by its id or name, that shall own a dataset; ``current`` is the owner's.

    If it ``is_locked``, another one than the owner cannot be deleted before the transaction ends.
    None if there is no row: an organization may be a text of datasets alone.

    Raises: ``OwnerDenied`` for one in which the user may not add datasets.
    """
    if sent in (None, "") or not is_storable(sent):  # the parameters refuse such a text
        return None
    rows = find_rows(Organization, str(sent)[:100]).filter(is_deleted=False)
    row = rows.first()
    if row and row.pk != current and is_locked:
        row = rows.select_for_update(no_key=True).first()
    if row is None:
        return None
    user = get_reader(request)
    is_permitted = row.pk == current or has_permission(user, "datastore_search.add_resource")
    if not is_permitted and not has_permission(user, f"{_APP}.add_dataset", Dataset(owner_org=row)):
        raise build_write_refusal(request, OwnerDenied)
    return row


def find_groups(
    request: Request,
    entries: Iterable[Mapping[str, Any]],
    current: Iterable[Mapping[str, Any]] = (),
) -> list[dict[str, str]]:
    """
    Find the groups of which each entry has the name, or the id as the name, as they are stored.

    A group that is a row needs the role ``editor`` in it, unless it is a ``current`` one.

    Raises: ``GroupDenied``.
    """
    user, found = get_reader(request), {}
    usable = {*find_memberships(user, "change_dataset").values_list("group", flat=True)}
    usable.update(group["id"] for group in current)
    for entry in entries:
        name = str(entry["name"])[:100]
        # No other group has the id of a row, which may have had this name before.
        rows = (find_rows(Group, text).filter(is_deleted=False) for text in (name, entry["id"]))
        row = next((found[0] for found in rows if found), None)
        is_usable = row is None or row.pk in usable
        if not is_usable and not has_permission(user, "datastore_search.add_resource"):
            raise build_write_refusal(request, GroupDenied, group=make_printable(name))
        group = row.to_group() if row else Group(**entry)
        found[group.name] = group.to_json()
    return [*found.values()]


def store_group(row: MemberGroup, change: Callable[[], object] | None = None) -> None:
    """
    Save an organization or a group, and show it in its datasets as it is now.

    Raises: ``ValidationError`` by the names of fields; ``UnknownGroup``; ``WriteBlocked``.
    """
    using = router.db_for_write(MemberGroup)
    with begin_write_transaction(connections[using]):
        has_row = (
            Q(owner_org=row.pk) if row.is_organization else Q(groups__contains=[{"id": row.pk}])
        )
        rows = Dataset.objects.using(using).filter(has_row).order_by("pk")
        locked = rows.select_for_update(of=("self",), no_key=True)
        # In the order of ``sync_dataset``: datasets, resources and their rows, names.
        homes = [each.pk for each in locked.filter(resource=None)]
        lock_resources(using, Q(dataset__in=rows) | Q(dataset__part_of__in=homes))
        is_found = MemberGroup.objects.using(using).select_for_update().filter(pk=row.pk).first()
        if change and not is_found:  # another request has purged it just now
            raise UnknownGroup(group=row.name)
        if change:  # of the row as it is now: another request may have changed it
            row.refresh_from_db(using)
            change()
        lock_aliases(connections[using])  # one transaction gives names at a time
        row.full_clean()
        row.save(using=using)
        shown = None if row.is_deleted else row.to_group().to_json()
        found = list(locked.exclude(organization=shown) if row.is_organization else locked)
        for each in found:
            if row.is_organization:
                each.organization = shown or {}
            others = (shown if group["id"] == row.pk else group for group in each.groups)
            each.groups = [group for group in others if group]
        columns = ["organization", "groups"]
        Dataset.objects.using(using).bulk_update(found, columns, batch_size=1_000)


# Parameters ---------------------------------------------------------------------------------------

_TEXTS: Final = {
    "name": _("Short, for addresses: lowercase letters, digits, hyphens and underscores."),
    "title": _("The title."),
    "description": _("The description."),
    "image_url": _("The address of a picture."),
}


class GroupNameParameters(ActionParameters):
    needed: ClassVar[tuple[str, ...]] = ("id",)

    id = TextField(help_text=_("The id or the name of an organization or a group."))


class ChangedGroup(GroupNameParameters):
    """The members of an organization or a group; CKAN ignores others, too."""

    accepts_others = True

    vars().update({name: WordsField(help_text=text) for name, text in _TEXTS.items()})
    state = ChoiceField(("active", "deleted"), help_text=_("Whether it is deleted."))
    extras = ObjectsField(help_text=_("Other texts: objects with `key` and `value`."))


class NewGroup(ChangedGroup):
    needed = ("name",)


class MemberParameters(GroupNameParameters):
    username = TextField(required=True, help_text=_("The name or the id of a user."))


class NewMemberParameters(MemberParameters):
    role = ChoiceField(Role.values, required=True, help_text=_("What the member may do."))


def _read_members(row: MemberGroup, sent: Mapping[str, Any], parsed: Mapping[str, Any]) -> None:
    """Set what was sent, and parsed; a member without a value empties its column."""
    for name in _TEXTS.keys() & sent.keys():
        setattr(row, name, parsed.get(name, ""))
    if "state" in parsed:
        row.is_deleted = parsed["state"] == "deleted"
    if "extras" in sent:
        pairs = ((each.get("key"), each.get("value")) for each in parsed.get("extras", ()))
        row.extras = {str(key): str(value) for key, value in pairs if key and value is not None}


# Actions ------------------------------------------------------------------------------------------


def _find_group(request: Request, kind: Kind, name: str, verb: str = "change") -> MemberGroup:
    """
    Find a row that the user may change.

    Raises: ``AccessDenied``; ``UnknownGroup``, also for one that is deleted.
    """
    row = find_rows(kind, name).first()
    if row and permits(request, verb, row):
        return row
    if not get_reader(request).is_authenticated or (row and not row.is_deleted):
        raise build_write_refusal(request, GroupDenied, group=make_printable(name))
    raise UnknownGroup(group=make_printable(name))


def _store(row: MemberGroup, change: Callable[[], object] | None = None) -> None:
    """Store a row.  Raises: ``ValidationError`` as CKAN names the members; ``UnknownGroup``."""
    try:
        store_group(row, change)
    except ValidationError as error:
        messages: dict[str, Any] = error.message_dict
        if texts := messages.pop(NON_FIELD_ERRORS, []):
            messages["message"] = " ".join(texts)
        raise serializers.ValidationError(messages) from error


def _answer(kind: Kind, request: Request, row: MemberGroup) -> Answer:
    listed = list_groups(open_public_datasets(router.db_for_write(Dataset)), kind)
    count = next((count for group, count in listed if group.pk == row.pk), 0)
    return Answer(describe_fully(request, row, count))


def _create(kind: Kind, request: Request, sent: Mapping[str, object]) -> Answer:
    if not permits(request, "add"):
        raise build_write_refusal(request, NewGroupDenied)
    parsed = NewGroup.parse(sent)
    # Datasets that name it already show this id.
    chosen = parsed.get("id") or build_id(f"{kind.kind}/{parsed['name']}")
    if MemberGroup.objects.filter(pk=chosen).exists():
        message = MemberGroup.name.field.error_messages["unique"]
        is_taken = find_rows(kind, parsed["name"]).exists()
        raise serializers.ValidationError(
            {"name": [message]} if is_taken else {"id": [_("Id already exists")]}
        )
    row = MemberGroup(pk=chosen, is_organization=kind is Organization)
    _read_members(row, sent, parsed)
    with begin_write_transaction(connections[router.db_for_write(MemberGroup)]):
        _store(row)
        creator: Any = get_reader(request)
        row.memberships.create(user_id=creator.pk, role=Role.ADMIN)
    return _answer(kind, request, row)


def _change(kind: Kind, request: Request, sent: Mapping[str, Any], *, keeps_extras: bool) -> Answer:
    parsed = ChangedGroup.parse(sent)
    row = _find_group(request, kind, parsed["id"])
    sent = sent if keeps_extras else {"extras": [], **sent}
    _store(row, partial(_read_members, row, sent, parsed))
    return _answer(kind, request, row)


def _delete(kind: Kind, request: Request, sent: Mapping[str, Any], *, is_purge: bool) -> Answer:
    name = GroupNameParameters.parse(sent)["id"]
    row = _find_group(request, kind, name, "delete" if is_purge else "change")
    with begin_write_transaction(connections[router.db_for_write(MemberGroup)]):
        _store(row, partial(setattr, row, "is_deleted", True))
        if is_purge:
            row.delete()
    return Answer(None)


def _create_member(kind: Kind, request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = NewMemberParameters.parse(sent)
    try:
        row = _find_group(request, kind, parsed["id"])
    except UnknownGroup as error:
        text = _("That group name or ID does not exist.")
        raise serializers.ValidationError({"id": [text]}) from error
    user = find_user(parsed["username"])
    if user is None:
        raise serializers.ValidationError({"username": [_("User not found")]})
    connection = connections[router.db_for_write(MemberGroup)]
    locked = RowToLock(MemberGroup._meta.db_table, row.pk)
    with begin_write_transaction(connection, locked) as is_found:
        if not is_found:  # another request has purged it just now
            raise UnknownGroup(group=make_printable(parsed["id"]))
        values = {"role": parsed["role"]}
        member, _is_new = row.memberships.update_or_create(user_id=user.pk, defaults=values)
    shown = {"id": str(member.pk), "table_name": "user", "table_id": str(user.pk)}
    return Answer({**shown, "capacity": member.role, "group_id": row.pk, "state": "active"})


def _delete_member(kind: Kind, request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = MemberParameters.parse(sent)
    row, user = _find_group(request, kind, parsed["id"]), find_user(parsed["username"])
    if user is not None:
        row.memberships.filter(user=user.pk).delete()
    return Answer(None)


_UPDATE = _("Change an organization or a group; extras that are not sent are removed.")
_PATCH = _("Change an organization or a group: members that are not sent stay.")
_DELETE = _("Delete an organization or a group; its name stays taken.")
_PURGE = _("Delete an organization or a group for ever; its name becomes free.")
_ADD = _("Make a user a member of an organization or a group, or change the role.")
_REMOVE = _("Remove a member of an organization or a group.")

#: What each action of organizations does, and that of groups.
_ACTIONS: Final[Sequence[tuple[str, type[ActionParameters], Callable[..., Answer], Promise]]] = (
    ("create", NewGroup, _create, _("Create an organization or a group.")),
    ("update", ChangedGroup, partial(_change, keeps_extras=False), _UPDATE),
    ("patch", ChangedGroup, partial(_change, keeps_extras=True), _PATCH),
    ("delete", GroupNameParameters, partial(_delete, is_purge=False), _DELETE),
    ("purge", GroupNameParameters, partial(_delete, is_purge=True), _PURGE),
    ("member_create", NewMemberParameters, _create_member, _ADD),
    ("member_delete", MemberParameters, _delete_member, _REMOVE),
)

group_actions: Final = tuple(
    Action(f"{kind.kind}_{name}", parameters, partial(run, kind), text, is_writing=True)
    for kind in (Organization, Group)
    for name, parameters, run, text in _ACTIONS
)

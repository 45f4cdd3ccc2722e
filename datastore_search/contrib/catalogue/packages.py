"""
The actions that publish datasets: ``package_create``, ``package_update`` and others.

A published dataset is a row without a resource; its resources are ``part_of`` it.  Whether they are
private follows from the dataset.

Source: CKAN's actions of these names.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, Final, cast

from django.db import IntegrityError, connections, router, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Action, Answer, build_action
from ...api.authentication import check_may_write, get_reader
from ...api.new_resources import add_resource, copy_members
from ...api.parameters import (
    ActionParameters,
    BooleanField,
    ChoiceField,
    JsonNamesField,
    ObjectField,
    ObjectsField,
    ResourceIdField,
    TextField,
    make_printable,
    parse_json,
)
from ...database.statements import begin_write_transaction, lock_aliases
from ...field_types import NotOfType, dump_json
from ...filters.names import SortKey
from ...models import MAX_TITLE_LENGTH, Resource, parse_resource_id
from ...web.addresses import ResourceAddresses
from .access import lock_changeable
from .datasets import open_readable_datasets
from .descriptions import describe_dataset, get_metadata_field
from .groups import find_groups, find_owner_org
from .models import MAX_TAGS, Dataset, Group, ListedDataset, State, build_organization
from .resources import (
    MAX_MEMBERS_BYTES,
    MAX_RESOURCES,
    ChangedMembers,
    MetadataField,
    change_resource,
    check_may_add,
    touch_dataset,
)
from .sync import lock_resources, match_dataset_name

MAX_EXTRAS: Final = 500
MAX_GROUPS: Final = 50
MAX_PATTERNS: Final = 100

#: The texts of a dataset by CKAN's names, their columns, and their help for clients.
_TEXTS: Final[Sequence[tuple[str, str, Promise]]] = (
    ("title", "title", _("The title; the name if not given.")),
    ("notes", "notes", _("The description.")),
    ("url", "source", _("Where the data come from: an address, or a text.")),
    ("version", "version_name", _("The version of the dataset.")),
    ("author", "author", _("Who has made the data.")),
    ("author_email", "author_email", _("The e-mail of the author.")),
    ("maintainer", "contact", _("Who answers questions.")),
    ("maintainer_email", "contact_email", _("The e-mail of the maintainer.")),
    ("license_id", "license", _("The id of a licence, such as `cc-by`.")),
)
_COLUMNS: Final = {
    **{name: column for name, column, _help in _TEXTS},
    **{name: name for name in ("tags", "extras", "groups")},
}

#: Of the texts of a group that only datasets name.
_GROUP_LENGTHS = {"name": 100, "id": 100, "title": MAX_TITLE_LENGTH, "description": 10_000}

# Members ------------------------------------------------------------------------------------------


class ColumnField(MetadataField):
    """A text that a column of the dataset holds; other values are written as JSON, as in CKAN."""

    def clean(self, data: object) -> str:
        try:
            return (data if isinstance(data, str) else dump_json(cast("Any", data))).strip()
        except NotOfType:  # a number beyond those of PostgreSQL
            self.fail("invalid")

    def to_internal_value(self, data: object) -> Any:
        if self.name != "license":
            return super().to_internal_value(data)
        if len(text := self.clean(data)) > (self.get_limit() or 0):  # CKAN's ids are not SPDX's
            raise serializers.ValidationError([self.describe_limit()])
        return text


class ListField(ObjectsField):
    default_error_messages = {
        "many": _("There are more than {most} of them."),
        "name": _("Each of them needs a “name”."),
        "key": _("Each of them needs a “key”, and each key once."),
    }
    is_repeated = False

    def list_named(self, data: object) -> list[Any]:
        """List objects with a name; a text stands for such an object."""
        listed = data if isinstance(data, list) else [data]
        named = super().check([{"name": x} if isinstance(x, str) else x for x in listed])
        if not all(isinstance(each.get("name") or each.get("id"), str) for each in named):
            self.fail("name")
        return named


class TagsField(ListField):
    """Tags: a list, or a text with commas between them."""

    def to_internal_value(self, data: object) -> Any:
        is_plain = isinstance(data, str) and not data.lstrip().startswith("[")
        return super().to_internal_value([*filter(None, data.split(","))] if is_plain else data)  # type: ignore[attr-defined] # it is a text

    def check(self, data: object) -> Any:
        names = [str(each.get("name")).strip() for each in self.list_named(data)]
        return get_metadata_field("tags").clean(list(dict.fromkeys(names)), None)


class GroupsField(ListField):
    def check(self, data: object) -> Any:
        groups = []
        for each in self.list_named(data):
            texts = {
                name: TextField(most).to_internal_value(each[name])
                for name, most in _GROUP_LENGTHS.items()
                if isinstance(each.get(name), str)
            }
            groups.append(Group(**{**texts, "name": texts.get("name") or texts["id"]}).to_json())
        return groups


class ExtrasField(ListField):
    def check(self, data: object) -> Any:
        sent = [each for each in super().check(data) if each.get("value", "") is not None]
        try:
            extras = {
                each["key"]: value if isinstance(value, str) else dump_json(cast("Any", value))
                for each in sent
                for value in [each.get("value", "")]
                if isinstance(each.get("key"), str)
            }
        except NotOfType:
            self.fail("invalid")
        if len(extras) < len(sent):
            self.fail("key")
        return extras


class PackageName(ActionParameters):
    needed = ("id",)

    id = ResourceIdField(help_text=_("The id or the name of a dataset."))


class PackageMembers(ActionParameters):
    accepts_others = True

    id = ResourceIdField(help_text=_("A UUID; chosen if not given."))
    name = TextField(
        help_text=_("The name, for addresses: 2 to 100 of the characters `a-z`, `0-9`, `-`, `_`.")
    )
    vars().update({name: ColumnField(column, help_text=text) for name, column, text in _TEXTS})
    owner_org = TextField(help_text=_("The name or the id of the organization."))
    groups = GroupsField(MAX_GROUPS, help_text=_("Groups: objects with a `name`."))
    tags = TagsField(MAX_TAGS, help_text=_("Tags: objects with a `name`."))
    tag_string = TagsField(MAX_TAGS, help_text=_("Tags as a text with commas between them."))
    extras = ExtrasField(MAX_EXTRAS, help_text=_("Other metadata: objects `key`, `value`."))
    private = BooleanField(
        help_text=_("Whether only users with the permission see the dataset and its resources.")
    )
    state = ChoiceField(State.values, help_text=_("The state of the dataset."))
    resources = ListField(
        MAX_RESOURCES,
        help_text=_(
            "All resources, as for `resource_create`; those with an `id` of the dataset are"
            " updated, and those left out are deleted. If not given, they stay."
        ),
    )


class PackageChanges(PackageMembers):
    needed = ("id", "name")

    id = ResourceIdField(
        help_text=_("The id or the name of a dataset. Required, unless there is a `name`.")
    )


# Storing ------------------------------------------------------------------------------------------


def _store_dataset(
    request: Request, dataset: Dataset, sent: Mapping[str, Any], *, is_complete: bool = True
) -> dict[str, Any]:
    """
    Store a dataset that is new or locked, and describe it.

    If the members are complete, those without a value are emptied, except the name, the state, the
    organization, ``private`` and the resources, as in CKAN.

    Raises: ``ValidationError``; ``WriteBlocked``; ``AccessDenied``.
    """
    parsed, using = PackageMembers.parse(sent), router.db_for_write(Dataset)
    if "tag_string" in parsed:
        parsed.setdefault("tags", parsed["tag_string"])
    former_groups = dataset.groups
    for member, column in _COLUMNS.items():
        if is_complete or member in sent or member in parsed:
            setattr(dataset, column, parsed.get(member, get_metadata_field(column).get_default()))
    dataset.groups = find_groups(request, dataset.groups, former_groups)
    if "owner_org" in sent or (dataset.owner_org and dataset.owner_org.is_deleted):
        _set_owner(request, dataset, parsed.get("owner_org"))
    was_hidden, former = dataset.is_hidden, (dataset.name, dataset.state)
    dataset.is_public = not parsed.get("private", not dataset.is_public)
    dataset.name = parsed.get("name", dataset.name)
    dataset.state = parsed.get("state", dataset.state)
    if (dataset.name, dataset.state) != former or not dataset.name:
        _check_name(dataset, dataset.name or "")
    if dataset.state not in {State.ACTIVE, former[1]} and not dataset._state.adding:
        lock_changeable(request, dataset.pk, "delete")
    shown = describe_dataset(ListedDataset(Dataset(), ()), ResourceAddresses(request)).keys()
    derived = {*PackageMembers.get_declared(), *(shown - {"type"}), "license_url", "force"}
    others = copy_members(sent, derived, MAX_MEMBERS_BYTES)
    dataset.members = others if is_complete else {**(dataset.members or {}), **others}
    dataset.metadata_modified = timezone.now()
    parts = list(Resource.objects.filter(dataset__part_of=dataset.pk))  # with the times shown
    try:
        with transaction.atomic(using=using):
            dataset.save(using=using, force_insert=dataset._state.adding)
    except IntegrityError as error:  # another request has added it just now
        raise serializers.ValidationError({"id": [_("Invalid id provided")]}) from error
    if "resources" in parsed or sent.get("resources") == []:
        _store_resources(request, dataset, parts, parsed.get("resources", ()))
    if dataset.is_hidden != was_hidden:
        resources = Resource.objects.filter(dataset__part_of=dataset)
        resources.update(private=dataset.is_hidden, modified_at=timezone.now())
    return _show_dataset(request, dataset)


def _set_owner(request: Request, dataset: Dataset, owner: str | None) -> None:
    """Set the organization with an id or a name among those that the user sees, or a new one."""
    named, current = dataset.owner, dataset.owner_org_id
    if owner and not (named and owner in {named.id, named.name}):
        datasets = open_readable_datasets(router.db_for_write(Dataset), get_reader(request))
        found = datasets.owned_by(owner).list_page([SortKey("id")], slice(1))
        named = (found[0].dataset.owner if found else None) or build_organization(owner)
    # A text may be the title of an organization with members, in whose lists it would appear.
    texts = (owner, named.name) if owner and named else ()
    owners = (find_owner_org(request, text, current, is_locked=True) for text in texts)
    dataset.owner_org = next(filter(None, owners), None)
    dataset.organization = named.to_json() if owner and named else {}


def _check_name(dataset: Dataset, name: str) -> None:
    """Refuse a name that cannot be used, while no other transaction gives names."""
    lock_aliases(connections[router.db_for_write(Dataset)])
    others = Dataset.objects.exclude(pk=dataset.pk).filter(resource=None)
    unrelated = Resource.objects.exclude(dataset__part_of=dataset.pk)
    is_taken = others.filter(match_dataset_name(name)) or unrelated.known_as(name)
    for is_wrong, reason in (
        (not name, _("Missing value")),
        (not re.fullmatch("[a-z0-9_-]{2,100}", name), _("Must be 2 to 100 of a-z, 0-9, - and _.")),
        (is_taken, "That URL is already in use."),  # clients compare it, so it is not translated
    ):
        if is_wrong:
            raise serializers.ValidationError({"name": [reason]})


def _store_resources(
    request: Request,
    dataset: Dataset,
    stored: Sequence[Resource],
    sent: Sequence[Mapping[str, Any]],
) -> None:
    parts = {str(each.pk): each for each in stored}
    ids: list[str] = []
    named = {str(each.get("id", "")).lower() for each in sent}
    for resource_id in [each for each in parts if each not in named]:  # new ones take their places
        part = parts.pop(resource_id)
        check_may_write(request, part, resource_id, "delete")
        part.delete()
    for each in sent:
        known = parts.pop(str(each.get("id", "")).lower(), None)
        try:
            if known is None:
                check_may_add(request, {"package_id": dataset.pk})
                known = add_resource(request, {**each, "package_id": dataset.pk}, dataset=dataset)
            else:
                members = ChangedMembers.parse(each)
                change_resource(request, known, each, members, is_complete=True)
        except serializers.ValidationError as error:
            details = [*[cast("Any", {})] * len(ids), error.detail]
            raise serializers.ValidationError({"resources": details}) from error
        ids.append(str(known.pk))
    _order_resources(dataset, ids)


def _order_resources(dataset: Dataset, ids: Sequence[str]) -> None:
    rows = Dataset.objects.filter(part_of=dataset).in_bulk(ids)
    for position, each in enumerate(ids):
        rows[each].position = position
    Dataset.objects.bulk_update(rows.values(), ["position"])


def _show_dataset(request: Request, dataset: Dataset) -> dict[str, Any]:
    datasets = open_readable_datasets(router.db_for_write(Dataset), get_reader(request))
    return describe_dataset(datasets.read([dataset.pk])[0], ResourceAddresses(request))


# Actions ------------------------------------------------------------------------------------------


@build_action(PackageMembers, _("Create a dataset, perhaps with resources."), is_writing=True)
def _package_create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_add(request, {"owner_org": sent.get("owner_org")})
    sent_id = PackageMembers.parse(sent).get("id", str(uuid.uuid4()))
    with begin_write_transaction(connections[router.db_for_write(Dataset)]):
        pk = parse_resource_id(sent_id)
        if pk is None or Dataset.objects.filter(pk=str(pk)).exists():
            raise serializers.ValidationError({"id": [_("Invalid id provided")]})
        dataset = Dataset(pk=str(pk), is_public=True, metadata_created=timezone.now())
        return Answer(_store_dataset(request, dataset, sent))


@contextmanager
def _lock(request: Request, name: object, verb: str = "change") -> Iterator[Dataset]:
    """Find and lock a published dataset with its resources.  Raises: as ``lock_changeable``."""
    using = router.db_for_write(Dataset)
    with begin_write_transaction(connections[using]):
        dataset = lock_changeable(request, str(name), verb)
        lock_resources(using, Q(dataset__part_of=dataset))
        yield dataset


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parsed = PackageChanges.parse(sent)
    with _lock(request, parsed.get("id") or parsed["name"]) as dataset:
        return Answer(_store_dataset(request, dataset, sent, is_complete=is_complete))


_UPDATE = _("Replace the description of a dataset: members that are not sent are emptied.")
_PATCH = _("Change the description of a dataset: members that are not sent stay.")


@build_action(
    PackageName,
    _("Hide a dataset and its resources from others, and free its name."),
    is_writing=True,
)
def _package_delete(request: Request, sent: Mapping[str, object]) -> Answer:
    with _lock(request, PackageName.parse(sent)["id"], "delete") as dataset:
        _store_dataset(request, dataset, {"state": State.DELETED.value}, is_complete=False)
    return Answer(None)


@build_action(PackageName, _("Delete a dataset with resources and records."), is_writing=True)
def _dataset_purge(request: Request, sent: Mapping[str, object]) -> Answer:
    with _lock(request, PackageName.parse(sent)["id"], "delete") as dataset:
        Resource.objects.filter(dataset__part_of=dataset).delete()
        dataset.delete()
    return Answer(None)


class ReorderParameters(PackageName):
    order = JsonNamesField(
        MAX_RESOURCES,
        required=True,
        help_text=_("Ids of resources; those that are left out follow in their order."),
    )


@build_action(ReorderParameters, _("Put the resources of a dataset in order."), is_writing=True)
def _package_resource_reorder(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = ReorderParameters.parse(sent)
    with _lock(request, parameters["id"]) as dataset:
        parts = Dataset.objects.filter(part_of=dataset).order_by("position", "pk")
        ids, first = list(parts.values_list("pk", flat=True)), dict.fromkeys(parameters["order"])
        for each in first:
            if each not in ids:
                text = str(_("resource_id {id} can not be found")).format(id=make_printable(each))
                raise serializers.ValidationError({"order": [text]})
        order = [*first, *(each for each in ids if each not in first)]
        _order_resources(dataset, order)
        touch_dataset(dataset.pk)
    return Answer({"id": dataset.pk, "order": order})


# package_revise -----------------------------------------------------------------------------------

#: Of an id in a path, where it stands for the resource whose id begins with it.
MIN_ID_LENGTH: Final = 5


class ReviseParameters(ActionParameters):
    accepts_others = True

    match = ObjectField(
        help_text=_(
            "Values that the dataset must have, an `id` or a `name` among them. Also as"
            " `match__name`, and so on."
        )
    )
    filter = JsonNamesField(
        MAX_PATTERNS, help_text=_("Paths of members to remove first, such as `-resources__1`.")
    )
    update: Any = ObjectField(  # DRF takes it out of the class, whose method it would hide
        help_text=_(
            "Values to set after that. Also as `update__title`, or `update__resources__extend` for"
            " a list of new resources."
        )
    )


@build_action(ReviseParameters, _("Change parts of a dataset by their paths."), is_writing=True)
def _package_revise(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = ReviseParameters.parse(sent)
    match, update = ({**parsed.get(x, {}), **_read_paths(sent, x)} for x in ("match", "update"))
    if not (name := match.get("id") or match.get("name")):
        raise serializers.ValidationError({"match__id": [_("Missing value")]})
    with _lock(request, name) as dataset:
        shown = _show_dataset(request, dataset)
        revised = deepcopy(shown)
        if unmatched := [path for path in match if not _has_value(shown, path, match[path])]:
            raise serializers.ValidationError({"match": [*map(make_printable, unmatched)]})
        for path in parsed.get("filter", ()):
            owner, key = _locate(revised, path.removeprefix("-"))
            owner.pop(key, None) if isinstance(owner, dict) else owner.pop(key)
        for path, value in sorted(update.items(), key=lambda pair: not pair[0].endswith("extend")):
            is_extended = path.endswith("__extend") and isinstance(value, list)
            owner, key = _locate(revised, path.removesuffix("__extend") if is_extended else path)
            old = owner.get(key) if isinstance(owner, dict) else owner[key]
            new = [*old, *value] if is_extended and isinstance(old, list) else value
            owner[key] = _merge(old, new)
        if revised.get("resources") == shown["resources"]:
            del revised["resources"]
        return Answer({"package": _store_dataset(request, dataset, {**revised, "id": dataset.pk})})


def _read_paths(sent: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """Read members such as ``update__title`` by their paths; JSON is read out of a text."""
    return {
        name.removeprefix(f"{prefix}__"): parse_json(value)
        if isinstance(value, str) and value.lstrip().startswith(("[", "{"))
        else value
        for name, value in sent.items()
        if name.startswith(f"{prefix}__")
    }


def _has_value(shown: Any, path: str, value: Any) -> bool:
    try:
        owner, key = _locate(shown, path)
        return bool(_merge(owner[key], value) == owner[key])
    except (KeyError, serializers.ValidationError):
        return False


def _locate(data: Any, path: str) -> tuple[Any, Any]:
    """Find what has the member of a path, and its key there.  Raises: ``ValidationError``."""
    *parents, last = path.split("__")
    try:
        for name in parents:
            data = data[_find_key(data, name)]
        return data, _find_key(data, last)
    except (LookupError, StopIteration, TypeError, ValueError) as error:
        text = str(_("Unmatched key {path}")).format(path=make_printable(path))
        raise serializers.ValidationError({make_printable(path): [text]}) from error


def _find_key(data: Any, name: str) -> Any:
    """Find the key of a member, or of an element by its number, or by its id."""
    if isinstance(data, dict):
        return name
    if not isinstance(data, list):
        raise TypeError
    if len(name) < MIN_ID_LENGTH:
        return range(len(data))[int(name)]
    return next(number for number, each in enumerate(data) if str(each["id"]).startswith(name))


def _merge(old: Any, new: Any) -> Any:
    """Merge values as CKAN does: objects by member, lists by element."""
    if isinstance(old, dict) and isinstance(new, Mapping):
        return {**old, **{k: _merge(old[k], v) if k in old else v for k, v in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        merged = [_merge(*pair) for pair in zip(old, new, strict=False)]
        return [*merged, *old[len(new) :], *new[len(old) :]]
    return new


package_actions = (
    _package_create,
    Action("package_update", PackageChanges, partial(_change, is_complete=True), _UPDATE, True),
    Action("package_patch", PackageChanges, partial(_change, is_complete=False), _PATCH, True),
    _package_revise,
    _package_delete,
    _dataset_purge,
    _package_resource_reorder,
)

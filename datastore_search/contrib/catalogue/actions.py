"""
The reading actions of CKAN's catalogue: datasets, resources, organizations, tags and licences.

Each resource is a dataset of its own, unless it is part of another.  Lists have the public ones,
as CKAN's; ``package_search`` has the private ones that the user may read, with ``include_private``.

Source: CKAN's actions of these names.  Parameters that have no meaning here are accepted, as
clients send them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.authentication import authorize_read, get_reader
from ...api.parameters import (
    MAX_ROW_NUMBER,
    ActionParameters,
    BooleanField,
    ChoiceField,
    FullTextField,
    IgnoredField,
    JsonNamesField,
    NamesField,
    NonNegativeIntegerField,
    ResourceIdField,
    ResourceNameParameters,
    TextField,
    make_printable,
)
from ...api.schemas import BOOLEAN, TEXT, list_of
from ...api.uploads import uploads
from ...database.sessions import Session
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...models import Resource
from ...search import open_snapshot
from ...web.addresses import ResourceAddresses
from .access import find_deleted, is_shown
from .conditions import match_format, match_text
from .contents import ContentSearch
from .datasets import (
    Datasets,
    find_resource,
    open_public_datasets,
    open_readable_datasets,
    read_resources,
)
from .descriptions import describe_dataset, describe_resource, describe_tag, list_licenses
from .groups import (
    GroupNameParameters,
    Kind,
    UnknownGroup,
    describe_fully,
    describe_row,
    find_rows,
    list_groups,
    list_groups_of_user,
    permits,
)
from .models import Group, ListedDataset, MemberGroup, Organization, get_metadata
from .query import (
    NOTHING,
    InvalidCatalogueQuery,
    UnknownCatalogueField,
    find_plain_words,
    parse_catalogue_sort,
)

#: Datasets or organizations of one answer.  Source: the defaults of CKAN's settings
#: ``ckan.search.rows_max`` and ``ckan.group_and_organization_list_max``.
DEFAULT_ROWS = 10
MAX_ROWS = 1_000

#: Names of one answer that lists them, where CKAN has no limit; 5 MB at most.
MAX_LISTED_NAMES = 50_000

#: Each facet is a statement.
MAX_FACETS = 10
DEFAULT_FACET_VALUES = 50
MAX_FACET_VALUES = 1_000

_NO_EFFECT = _("Has no effect.")
_LIMIT = _("Maximum number of results.")
_OFFSET = _("Number of results to skip.")

DEFAULT_SORT = "score desc, metadata_modified desc"


class UnknownDataset(UnknownResource):
    message = _("Not found: Dataset “%(dataset)s” was not found.")


class UnknownOrganization(UnknownResource):
    message = _("Not found: Organization “%(organization)s” was not found.")


class UnknownTag(UnknownResource):
    message = _("Not found: Tag “%(tag)s” was not found.")


class _Call(NamedTuple):
    """A request, what it has sent, the parameters in that, and the session that reads."""

    request: Request
    sent: Mapping[str, object]
    parameters: dict[str, Any]
    session: Session

    @property
    def using(self) -> str:
        return self.session.connection.alias

    def open_datasets(self) -> Datasets:
        """Open the public datasets, or with ``include_private`` those that the user may see."""
        if self.parameters.get("include_private"):
            return self.open_readable()
        return open_public_datasets(self.using)

    def open_readable(self) -> Datasets:
        return open_readable_datasets(self.using, get_reader(self.request))

    def describe(self, listed: Iterable[ListedDataset]) -> list[dict[str, Any]]:
        addresses = ResourceAddresses(self.request)
        return [describe_dataset(each, addresses) for each in listed]

    def bound(self, most: int, default: int = MAX_ROWS) -> slice:
        offset = min(self.parameters.get("offset", 0), MAX_ROW_NUMBER)
        return slice(offset, offset + min(self.parameters.get("limit", default), most))

    def find_resource(self, name: str) -> Resource:
        """Find a resource that is listed, or any for a user who may change it."""
        resource = find_resource(Resource.objects.using(self.using), name)
        if resource is None or not is_shown(resource, get_reader(self.request)):
            raise UnknownResource(resource=make_printable(name))
        return resource


def _reads(
    parameters: type[ActionParameters], description: str | Promise, *, name: str = "", **more: Any
) -> Callable[[Callable[[_Call], Answer]], Action]:
    """Make the action of a ``name``, or of the function's: it reads within a time limit."""

    def build(run: Callable[[_Call], Answer]) -> Action:
        def run_within_limits(request: Request, sent: Mapping[str, object]) -> Answer:
            with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
                return run(_Call(request, sent, parameters.parse(sent), session))

        own_name = name or run.__name__.removeprefix("_")
        return Action(own_name, parameters, run_within_limits, description, **more)

    return build


# Parameters of several actions --------------------------------------------------------------------


def _ignore(*names: str) -> dict[str, IgnoredField]:
    return {name: IgnoredField(help_text=_NO_EFFECT) for name in names}


class PageParameters(ActionParameters):
    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_ROWS)
    offset = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")


class DatasetListParameters(ActionParameters):
    include_private = BooleanField(
        help_text=_("Include the private datasets that the user may read."), shown_default="false"
    )
    vars().update(_ignore("include_drafts", "include_deleted"))


class ShowParameters(ActionParameters):
    """What clients, such as ckanapi's program, send to every action that describes something."""

    vars().update(_ignore("include_groups", "include_password_hash", "include_users"))


# Datasets -----------------------------------------------------------------------------------------


class PackageListParameters(DatasetListParameters):
    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_LISTED_NAMES)
    offset = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")


@_reads(PackageListParameters, _("List the names of datasets."), result=list_of(TEXT))
def _package_list(call: _Call) -> Answer:
    names = call.open_datasets().list_names(call.bound(MAX_LISTED_NAMES, MAX_LISTED_NAMES))
    return Answer(names, public=not call.parameters.get("include_private"))


class PackageShowParameters(ShowParameters):
    needed = ("id", "name_or_id")

    id = ResourceIdField(
        help_text=_(
            "The id, the name or an alias of a dataset. Required, unless there is a `name_or_id`."
        )
    )
    name_or_id = ResourceIdField(help_text=_("Another name for `id`, which has precedence."))
    vars().update(
        _ignore("use_default_schema", "include_tracking", "include_plugin_data", "include_datasets")
    )


@_reads(PackageShowParameters, _("Describe a dataset."))
def _package_show(call: _Call) -> Answer:
    name = str(call.parameters.get("id") or call.parameters["name_or_id"])
    resource = None
    with suppress(UnknownResource):
        resource = call.find_resource(name)
    # Of all resources, only a part of a dataset of the portal's own may have its name.
    if resource and not (row := get_metadata(resource)).part_of_id:
        validators = authorize_read(call.request, resource, name, call.sent)
        return Answer(call.describe([ListedDataset(row, [resource])])[0], validators=validators)
    datasets = call.open_readable()
    if found := datasets.find(name):
        return Answer(call.describe([found])[0], public=False)
    if deleted := find_deleted(name, get_reader(call.request), call.using):
        return Answer(call.describe(datasets.read([deleted.pk]))[0], public=False)
    raise UnknownDataset(dataset=make_printable(name))


class ConditionsField(JsonNamesField):
    def split(self, data: object) -> list[str]:
        """Read one text as it is: a comma may be within quotes."""
        is_text = isinstance(data, str) and data.lstrip()[:1] != "["
        return super().split([data] if is_text else data)


class LimitField(NonNegativeIntegerField):
    def to_internal_value(self, data: object) -> int | None:
        """Read a negative number as no limit, as Solr does."""
        return MAX_FACET_VALUES if data in (-1, "-1") else super().to_internal_value(data)


class PackageSearchParameters(DatasetListParameters):
    q = FullTextField(
        help_text=_(
            "Words that a dataset or one of its records must contain, or conditions such as "
            "`tags:water`; `*:*` matches all."
        )
    )
    fq = FullTextField(
        help_text=_("Conditions such as `+tags:water organization:(hue OR vinh) -res_format:CSV`.")
    )
    fq_list = ConditionsField(
        MAX_FACETS, help_text=_("Several `fq`, which must all hold: a list, or its JSON text.")
    )
    rows = NonNegativeIntegerField(
        help_text=_("Maximum number of datasets."),
        shown_default=DEFAULT_ROWS,
        reduced_to=lambda: MAX_ROWS,
    )
    start = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")
    sort = TextField(
        help_text=_(
            "Fields to sort by, each with `asc` or `desc`, separated by commas; the last modified"
            " first if not given."
        )
    )
    facet = BooleanField(help_text=_("Count the values of `facet.field`."), shown_default="true")
    # Names with a full stop are not valid names in Python.
    vars().update(
        {
            "facet.field": JsonNamesField(
                MAX_FACETS,
                source="facet_field",
                help_text=_(
                    "What to count: `tags`, `organization`, `owner_org`, `groups`, `license_id`,"
                    " `res_format`. A list, or its JSON text."
                ),
            ),
            "facet.limit": LimitField(
                source="facet_limit",
                help_text=_("Maximum number of values of each facet."),
                shown_default=DEFAULT_FACET_VALUES,
                reduced_to=lambda: MAX_FACET_VALUES,
            ),
            "facet.mincount": NonNegativeIntegerField(
                source="facet_mincount",
                help_text=_("Leave out values that fewer datasets have."),
                shown_default="1",
            ),
        }
    )
    vars().update(_ignore("use_default_schema", "fl"))


@_reads(PackageSearchParameters, _("Search datasets."))
def _package_search(call: _Call) -> Answer:
    parameters, datasets = call.parameters, call.open_datasets()
    contents = ContentSearch(call.session, find_plain_words(parameters.get("q", "")))
    found, is_complete = NOTHING, True
    if contents.text:
        resources, is_complete = contents.find(datasets.resources)
        found = datasets.match_resources(resources)
    for name in ("q", "fq", "fq_list"):
        sent = parameters.get(name, "")
        for text in (sent,) if isinstance(sent, str) else sent:
            datasets = datasets.matching(text, name, found if name == "q" else NOTHING)
    sort = parameters.get("sort", DEFAULT_SORT)
    order = parse_catalogue_sort(sort)
    rows = min(parameters.get("rows", DEFAULT_ROWS), MAX_ROWS)
    start = min(parameters.get("start", 0), MAX_ROW_NUMBER)
    page, count = datasets.read_page(order, slice(start, start + rows))
    limit = min(parameters.get("facet_limit", DEFAULT_FACET_VALUES), MAX_FACET_VALUES)
    least = parameters.get("facet_mincount", 1)
    names = (
        dict.fromkeys(parameters.get("facet_field", ())) if parameters.get("facet", True) else ()
    )
    facets = {
        name: [each for each in datasets.count_facet(name, limit) if each.count >= least]
        for name in names
    }
    results, addresses = call.describe(page), ResourceAddresses(call.request)
    if contents.text:
        counted = contents.count([each for listed in page for each in listed.resources])
        query = urlencode({"q": contents.text})
        for described in (each for result in results for each in result["resources"]):
            if number := counted.get(uuid.UUID(described["id"])):
                described["records_found"] = {
                    **number._asdict(),
                    "url": f"{addresses.build_page(described['id'])}?{query}",
                }
    result = {
        "count": count,
        **({} if is_complete else {"contents_complete": False}),
        "facets": {
            name: {each.name: each.count for each in values} for name, values in facets.items()
        },
        "results": results,
        "sort": sort,
        "search_facets": {
            name: {
                "title": name,
                "items": [
                    {"name": each.name, "display_name": each.title, "count": each.count}
                    for each in values
                ],
            }
            for name, values in facets.items()
        },
    }
    # No cache in front is purged when the other tables can be searched.
    return Answer(result, public=is_complete and not parameters.get("include_private"))


class PackageAutocompleteParameters(ActionParameters):
    needed = ("q",)

    q = TextField(help_text=_("A part of the name or the title."))
    limit = NonNegativeIntegerField(
        help_text=_LIMIT, shown_default=DEFAULT_ROWS, reduced_to=lambda: MAX_ROWS
    )


@_reads(PackageAutocompleteParameters, _("Find datasets by a part of the name or the title."))
def _package_autocomplete(call: _Call) -> Answer:
    q = call.parameters["q"].casefold()
    bounds = call.bound(MAX_ROWS, DEFAULT_ROWS)
    found = call.open_datasets().named_like(q).list_page(parse_catalogue_sort("name"), bounds)
    result = []
    for each in found:
        name, title = each.dataset.shown_name, each.dataset.local_title.text
        shown, field = (name, "name") if q in name.casefold() else (f"{title} ({name})", "title")
        matched = {"match_displayed": shown, "match_field": field}
        result.append({**matched, "name": name, "title": title})
    return Answer(result, public=True)


class CurrentPackagesParameters(PageParameters):
    page = NonNegativeIntegerField(
        help_text=_("The number of a page of `limit` results, from 1; overrides `offset`.")
    )


@_reads(CurrentPackagesParameters, _("Describe the datasets, the last modified first."))
def _current_package_list_with_resources(call: _Call) -> Answer:
    parameters = call.parameters
    if parameters.get("page") and "limit" in parameters:
        parameters["offset"] = (parameters["page"] - 1) * parameters["limit"]
    found = call.open_datasets().list_page(parse_catalogue_sort(""), call.bound(MAX_ROWS))
    return Answer(call.describe(found), public=True)


# Resources ----------------------------------------------------------------------------------------


class ResourceShowParameters(ResourceNameParameters):
    include_tracking = IgnoredField(help_text=_NO_EFFECT)


@_reads(ResourceShowParameters, _("Describe a resource."))
def _resource_show(call: _Call) -> Answer:
    name = str(call.parameters["id"])
    resource = call.find_resource(name)
    place = call.open_readable().locate([resource])[resource.pk]
    more = uploads.entry.describe(call.request, resource)
    validators = authorize_read(call.request, resource, name, call.sent, repr((place, more)))
    described = {**describe_resource(resource, ResourceAddresses(call.request), place), **more}
    return Answer(described, validators=replace(validators, key=""))  # others change its place


class ResourceSearchParameters(PageParameters):
    needed = ("query",)

    query = NamesField(
        MAX_FACETS,
        help_text=_(
            "Conditions `field:text` on `id`, `name`, `description` or `format`; a list, or a text"
            " with commas between them."
        ),
    )
    order_by = TextField(help_text=_("`name`, `created` or `last_modified`."), shown_default="name")


#: How each field of ``resource_search`` is compared.
_RESOURCE_FIELDS: Mapping[str, Callable[[str], Q]] = {
    "id": lambda text: Q(id__icontains=text),
    "name": lambda text: match_text("title", text) | Q(title="", name__icontains=text),
    "description": partial(match_text, "description"),
    "format": match_format,
}
_RESOURCE_ORDERS = {"name": "name", "created": "created_at", "last_modified": "modified_at"}


@_reads(ResourceSearchParameters, _("Find resources by parts of their members."))
def _resource_search(call: _Call) -> Answer:
    condition = Q()
    for pair in call.parameters["query"]:
        name, colon, text = pair.partition(":")
        if not colon:
            raise InvalidCatalogueQuery(parameter="query", text=pair[:100])
        if name not in _RESOURCE_FIELDS:
            raise UnknownCatalogueField(parameter="query", field=name[:100])
        condition &= _RESOURCE_FIELDS[name](text)
    order_by = call.parameters.get("order_by", "name")
    if order_by not in _RESOURCE_ORDERS:
        raise UnknownCatalogueField(parameter="order_by", field=order_by[:100])
    datasets, bounds = call.open_datasets(), call.bound(MAX_ROWS)
    resources = datasets.listed.filter(condition).order_by(_RESOURCE_ORDERS[order_by], "pk")
    found, count = read_resources(resources, bounds)
    addresses = ResourceAddresses(call.request)
    places = datasets.locate(found)
    results = [describe_resource(each, addresses, places[each.pk]) for each in found]
    return Answer({"count": count, "results": results}, public=True)


# Organizations and groups -------------------------------------------------------------------------


#: What groups are sorted by; ``packages`` is an older name of CKAN's.
_GROUP_KEYS: Final[Mapping[str, Callable[[MemberGroup, int], Any]]] = {
    "name": lambda group, _count: group.name,
    "title": lambda group, _count: group.to_group().shown_title.casefold(),
    "package_count": lambda _group, count: count,
    "packages": lambda _group, count: count,
}


class GroupSortField(ChoiceField):
    def to_internal_value(self, data: object) -> str | None:
        return super().to_internal_value(" ".join(str(data).lower().split()))


class GroupListParameters(PageParameters):
    sort = GroupSortField(
        [f"{key}{order}" for key in _GROUP_KEYS for order in ("", " asc", " desc")],
        help_text=_("The field to sort by, with `asc` or `desc`."),
        shown_default="name asc",
    )
    order_by = GroupSortField(sort.choices, help_text=sort.help_text)
    q = TextField(help_text=_("A part of the name or the title."))
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )
    organizations = JsonNamesField(MAX_ROWS, help_text=_("The names to list; all if not given."))
    groups = JsonNamesField(MAX_ROWS, help_text=_("The names to list; all if not given."))
    vars().update(_ignore("id", "type", "include_dataset_count", "include_extras"))
    vars().update(_ignore("include_tags", "include_groups", "include_users"))


def _list_groups(call: _Call, kind: Kind) -> Answer:
    wanted = call.parameters.get(f"{kind.kind}s")
    listed = list_groups(call.open_datasets(), kind)
    listed = [each for each in listed if not wanted or each[0].name in wanted]
    if q := call.parameters.get("q", "").strip().casefold():
        listed = [each for each in listed if q in f"{each[0].name}\n{each[0].title}".casefold()]
    sort = call.parameters.get("sort") or call.parameters.get("order_by", "name")
    key, _blank, order = sort.partition(" ")
    # As in CKAN, the most come first, unless `asc` is sent.
    is_descending = order == "desc" or (not order and key in {"package_count", "packages"})
    listed.sort(key=lambda each: _GROUP_KEYS[key](*each), reverse=is_descending)
    shown = listed[call.bound(MAX_ROWS)]
    if not call.parameters.get("all_fields"):
        return Answer([row.name for row, _count in shown], public=True)
    return Answer([describe_row(*each) for each in shown], public=True)


class GroupShowParameters(GroupNameParameters, ShowParameters):
    include_datasets = BooleanField(
        help_text=_("Return its datasets as `packages`, at most 1,000."), shown_default="false"
    )
    vars().update(
        _ignore("include_dataset_count", "include_extras", "include_tags", "include_followers")
    )


def _find_group(call: _Call, kind: Kind) -> tuple[MemberGroup, int]:
    """Find a group by its name or id; a deleted one is shown only to users who may change it."""
    name = call.parameters["id"]
    for each in list_groups(call.open_datasets(), kind):
        if name in {each[0].name, each[0].pk}:
            return each
    deleted = find_rows(kind, name).using(call.using).filter(is_deleted=True).first()
    if deleted and permits(call.request, "change", deleted):
        return deleted, 0
    shown = make_printable(name)
    if kind is Organization:
        raise UnknownOrganization(organization=shown)
    raise UnknownGroup(group=shown)


def _list_datasets(call: _Call, row: MemberGroup) -> list[dict[str, Any]]:
    datasets = call.open_datasets()
    found = datasets.owned_by(row.name) if row.is_organization else datasets.in_group(row.name)
    return call.describe(found.list_page(parse_catalogue_sort(""), call.bound(MAX_ROWS)))


def _show_group(call: _Call, kind: Kind) -> Answer:
    row, count = _find_group(call, kind)
    result = describe_fully(call.request, row, count)
    if call.parameters.get("include_datasets"):
        result["packages"] = _list_datasets(call, row)
    # Members and deleted ones are shown to some users alone.
    return Answer(result, public=None if result["users"] or row.is_deleted else True)


class GroupDatasetsParameters(GroupNameParameters):
    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_ROWS)


@_reads(GroupDatasetsParameters, _("Describe the datasets of a group."))
def _group_package_show(call: _Call) -> Answer:
    row, _count = _find_group(call, Group)
    return Answer(_list_datasets(call, row), public=True)


class OwnGroupsParameters(ActionParameters):
    permission = TextField(
        help_text=_("One of CKAN's, such as `create_dataset`."), shown_default="manage_group"
    )
    vars().update(_ignore("id", "include_dataset_count", "available_only", "am_member"))
    vars().update(_ignore("type", "all_fields", "include_extras", "include_tags"))
    vars().update(_ignore("include_groups", "include_users"))


def _list_own_groups(call: _Call, kind: Kind) -> Answer:
    permission = call.parameters.get("permission", "manage_group")
    return Answer(list_groups_of_user(call.request, kind, permission))


_LIST = _("List organizations or groups.")
_SHOW = _("Describe an organization or a group.")
_OWN = _("List the organizations or groups of which you are a member.")

group_reads = tuple(
    _reads(parameters, text, name=name)(partial(run, kind=kind))
    for name, kind, parameters, run, text in (
        ("organization_list", Organization, GroupListParameters, _list_groups, _LIST),
        ("group_list", Group, GroupListParameters, _list_groups, _LIST),
        ("organization_show", Organization, GroupShowParameters, _show_group, _SHOW),
        ("group_show", Group, GroupShowParameters, _show_group, _SHOW),
        ("organization_list_for_user", Organization, OwnGroupsParameters, _list_own_groups, _OWN),
        ("group_list_authz", Group, OwnGroupsParameters, _list_own_groups, _OWN),
    )
)


# Tags, vocabularies, formats, licences ------------------------------------------------------------


class TagPartsField(TextField):
    def to_internal_value(self, data: object) -> set[str]:
        """Read a text, or a list of texts."""
        texts = map(super().to_internal_value, data if isinstance(data, list) else [data])
        return {text.strip().casefold() for text in texts} - {""}


class TagParameters(ActionParameters):
    query = TagPartsField(help_text=_("A text that the names of the tags must contain."))
    vocabulary_id = TextField(
        help_text=_("A vocabulary. There are no vocabularies, so no tag matches.")
    )


class TagListParameters(TagParameters):
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )


@_reads(TagListParameters, _("List the tags of datasets."))
def _tag_list(call: _Call) -> Answer:
    names = _find_tags(call, is_part_needed=False)[:MAX_LISTED_NAMES]
    is_described = call.parameters.get("all_fields")
    return Answer([describe_tag(name) for name in names] if is_described else names, public=True)


class TagSearchParameters(PageParameters, TagParameters):
    q = TagPartsField(help_text=_("Another name for `query`."))


def _find_tags(call: _Call, *, is_part_needed: bool = True) -> list[str]:
    """Find the names of tags with all parts of them; those of a search have one, as in CKAN."""
    parts = call.parameters.get("query") or call.parameters.get("q", ())
    if call.parameters.get("vocabulary_id") or (is_part_needed and not parts):
        return []
    names = (each.name for each in call.open_datasets().list_tags())
    return [name for name in names if all(part in name.casefold() for part in parts)]


@_reads(TagSearchParameters, _("Find tags by parts of their names."))
def _tag_search(call: _Call) -> Answer:
    names = _find_tags(call)
    results = [describe_tag(name) for name in names[call.bound(MAX_ROWS)]]
    return Answer({"count": len(names), "results": results}, public=True)


@_reads(TagSearchParameters, _("List the names of tags that contain a text."))
def _tag_autocomplete(call: _Call) -> Answer:
    return Answer(_find_tags(call)[call.bound(MAX_ROWS)], public=True)


class TagShowParameters(ActionParameters):
    needed = ("id",)

    id = TextField(help_text=_("The name or the id of a tag."))
    include_datasets = BooleanField(
        help_text=_("Return its datasets as `packages`, at most 1,000."), shown_default="false"
    )
    vocabulary_id = IgnoredField(help_text=_NO_EFFECT)


@_reads(TagShowParameters, _("Describe a tag."))
def _tag_show(call: _Call) -> Answer:
    datasets, sent = call.open_datasets(), call.parameters["id"]
    tags = (describe_tag(each.name) for each in datasets.list_tags())
    tag = next((each for each in tags if sent in {each["name"], each["id"]}), None)
    if tag is None:
        raise UnknownTag(tag=make_printable(sent))
    if call.parameters.get("include_datasets"):
        found = datasets.tagged(tag["name"])
        page = found.list_page(parse_catalogue_sort(""), slice(0, MAX_ROWS))
        tag["packages"] = call.describe(page)
    return Answer(tag, public=True)


class FormatParameters(ActionParameters):
    needed = ("q",)

    q = TextField(help_text=_("A part of a format."))
    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_FACET_VALUES)


@_reads(FormatParameters, _("List the formats of resources that contain a text."))
def _format_autocomplete(call: _Call) -> Answer:
    part, datasets = call.parameters["q"].casefold(), call.open_datasets()
    facets = datasets.count_facet("res_format", MAX_FACET_VALUES)
    names = [each.name.lower() for each in facets if part in each.name.lower()]
    return Answer(names[call.bound(MAX_FACET_VALUES)], public=True)


def _build_constant(name: str, build: Callable[[], Any], text: Promise, **more: Any) -> Action:
    """Build an action that reads nothing."""

    def run(request: Request, sent: Mapping[str, object]) -> Answer:
        ActionParameters.parse(sent)
        return Answer(build(), public=True)

    return Action(name, ActionParameters, run, text, **more)


catalogue_actions = (
    _package_list,
    _package_show,
    _package_search,
    _package_autocomplete,
    _current_package_list_with_resources,
    _resource_show,
    _resource_search,
    *group_reads,
    _group_package_show,
    _tag_list,
    _tag_search,
    _tag_autocomplete,
    _tag_show,
    _format_autocomplete,
    _build_constant("vocabulary_list", list, _("List the vocabularies: none.")),
    _build_constant("license_list", list_licenses, _("List the known licences.")),
    _build_constant(
        "site_read", lambda: True, _("Report that this portal can be read."), result=BOOLEAN
    ),
)

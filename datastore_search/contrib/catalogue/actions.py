"""
The reading actions of CKAN's catalogue: datasets, resources, organizations, tags and licences.

Each resource is a dataset of its own, unless it is part of another.  Lists have the public ones,
as CKAN's; ``package_search`` has the private ones that the user may read, with ``include_private``.

Source: CKAN's actions of these names.  Parameters that have no meaning here are accepted, as
clients send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

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
    FullTextField,
    IgnoredField,
    JsonNamesField,
    NamesField,
    NonNegativeIntegerField,
    ResourceIdField,
    TextField,
    make_printable,
)
from ...api.schemas import BOOLEAN, TEXT, list_of
from ...api.uploads import uploads
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...models import Resource
from ...search import open_snapshot
from ...web.addresses import ResourceAddresses
from .access import find_deleted, is_shown
from .conditions import match_format, match_text
from .datasets import (
    AnyGroup,
    Counted,
    Datasets,
    find_resource,
    open_public_datasets,
    open_readable_datasets,
    read_resources,
)
from .descriptions import (
    describe_dataset,
    describe_group,
    describe_organization,
    describe_resource,
    describe_tag,
    list_licenses,
)
from .models import Group, ListedDataset, Organization, get_metadata
from .query import InvalidCatalogueQuery, UnknownCatalogueField, parse_catalogue_sort
from .resources import ResourceNameParameters

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


class _Call(NamedTuple):
    """A request, what it has sent, the parameters in that, and the name of the database to read."""

    request: Request
    sent: Mapping[str, object]
    parameters: dict[str, Any]
    using: str

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

    def bound(self, most: int) -> slice:
        offset = min(self.parameters.get("offset", 0), MAX_ROW_NUMBER)
        return slice(offset, offset + min(self.parameters.get("limit", most), most))

    def find_resource(self, name: str) -> Resource:
        """Find a resource that is listed, or any for a user who may change it."""
        resource = find_resource(Resource.objects.using(self.using), name)
        if resource is None or not is_shown(resource, get_reader(self.request)):
            raise UnknownResource(resource=make_printable(name))
        return resource


def _reads(
    parameters: type[ActionParameters], description: str | Promise, **more: Any
) -> Callable[[Callable[[_Call], Answer]], Action]:
    """Make the action of a function's name, which reads within the client's time limit."""

    def build(run: Callable[[_Call], Answer]) -> Action:
        def run_within_limits(request: Request, sent: Mapping[str, object]) -> Answer:
            with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
                using = session.connection.alias
                return run(_Call(request, sent, parameters.parse(sent), using))

        name = run.__name__.removeprefix("_")
        return Action(name, parameters, run_within_limits, description, **more)

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
    names = call.open_datasets().list_names(call.bound(MAX_LISTED_NAMES))
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
            "Words that a dataset must contain, or conditions such as `tags:water`; `*:*` "
            "matches all."
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
    for name in ("q", "fq", "fq_list"):
        sent = parameters.get(name, "")
        for text in (sent,) if isinstance(sent, str) else sent:
            datasets = datasets.matching(text, name)
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
        name: [each for each in datasets.count_facet(name, limit, count) if each.count >= least]
        for name in names
    }
    result = {
        "count": count,
        "facets": {
            name: {each.name: each.count for each in values} for name, values in facets.items()
        },
        "results": call.describe(page),
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
    return Answer(result, public=not parameters.get("include_private"))


class PackageAutocompleteParameters(ActionParameters):
    needed = ("q",)

    q = TextField(help_text=_("A part of the name or the title."))
    limit = NonNegativeIntegerField(
        help_text=_LIMIT, shown_default=DEFAULT_ROWS, reduced_to=lambda: MAX_ROWS
    )


@_reads(PackageAutocompleteParameters, _("Find datasets by a part of the name or the title."))
def _package_autocomplete(call: _Call) -> Answer:
    q = call.parameters["q"].casefold()
    bounds = slice(0, min(call.parameters.get("limit", DEFAULT_ROWS), MAX_ROWS))
    found = call.open_datasets().named_like(q).list_page(parse_catalogue_sort("name"), bounds)
    result = []
    for each in found:
        name, title = each.dataset.shown_name, each.dataset.local_title.text
        is_name = q in name.casefold()
        result.append(
            {
                "match_displayed": name if is_name else f"{title} ({name})",
                "match_field": "name" if is_name else "title",
                "name": name,
                "title": title,
            }
        )
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
_RESOURCE_ORDERS = {
    "name": "name",
    "created": "created_at",
    "last_modified": "modified_at",
}


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


# Organizations, groups, tags, licences ------------------------------------------------------------


class GroupListParameters(PageParameters):
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )
    vars().update(
        _ignore("sort", "order_by", "type", "groups", "include_dataset_count", "include_extras")
    )


class OrganizationListParameters(GroupListParameters):
    organizations = JsonNamesField(MAX_ROWS, help_text=_("The names to list; all if not given."))
    vars().update(_ignore("include_tags", "include_groups", "include_users"))


@_reads(OrganizationListParameters, _("List the publishers of datasets."))
def _organization_list(call: _Call) -> Answer:
    wanted = call.parameters.get("organizations")
    organizations = call.open_datasets().list_organizations()
    named = [each for each in organizations if not wanted or each[0].name in wanted]
    return _list_groups_of(call, named, _describe_organization)


def _list_groups_of(
    call: _Call, groups: list[Counted[AnyGroup]], describe: Callable[[Counted[AnyGroup]], Any]
) -> Answer:
    listed = groups[call.bound(MAX_ROWS)]
    if not call.parameters.get("all_fields"):
        return Answer([group.name for group, _count in listed], public=True)
    return Answer(list(map(describe, listed)), public=True)


class OrganizationShowParameters(ShowParameters):
    needed = ("id",)

    id = TextField(help_text=_("The id or the name of an organization."))
    include_datasets = BooleanField(
        help_text=_("Return its datasets as `packages`, at most 1,000."), shown_default="false"
    )
    vars().update(
        _ignore("include_dataset_count", "include_extras", "include_tags", "include_followers")
    )


@_reads(OrganizationShowParameters, _("Describe a publisher of datasets."))
def _organization_show(call: _Call) -> Answer:
    name = call.parameters["id"]
    datasets = call.open_datasets()
    for each in datasets.list_organizations():
        if name in {each[0].name, each[0].id}:
            break
    else:
        raise UnknownOrganization(organization=make_printable(name))
    result = {**_describe_organization(each), "users": [], "extras": [], "groups": [], "tags": []}
    if call.parameters.get("include_datasets"):
        found = datasets.owned_by(each[0].name).list_page(
            parse_catalogue_sort(""), slice(0, MAX_ROWS)
        )
        result["packages"] = call.describe(found)
    return Answer(result, public=True)


def _describe_organization(counted: Counted[Organization]) -> dict[str, Any]:
    organization, count = counted
    return {
        **describe_organization(organization),
        "display_name": organization.shown_title,
        "image_display_url": organization.image_url,
        "num_followers": 0,
        "package_count": count,
    }


@_reads(GroupListParameters, _("List the groups of datasets."))
def _group_list(call: _Call) -> Answer:
    def describe(counted: Counted[Group]) -> dict[str, Any]:
        group, count = counted
        return {**describe_group(group), "type": "group", "package_count": count}

    return _list_groups_of(call, call.open_datasets().list_groups(), describe)


class TagListParameters(ActionParameters):
    query = TextField(help_text=_("A text that the names of the tags must contain."))
    vocabulary_id = TextField(
        help_text=_("A vocabulary. There are no vocabularies, so no tag matches.")
    )
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )


@_reads(TagListParameters, _("List the tags of datasets."))
def _tag_list(call: _Call) -> Answer:
    parameters = call.parameters
    part = parameters.get("query", "").strip().casefold()
    tags = [] if parameters.get("vocabulary_id") else call.open_datasets().list_tags()
    names = [each.name for each in tags if part in each.name.casefold()][:MAX_LISTED_NAMES]
    if not parameters.get("all_fields"):
        return Answer(names, public=True)
    members = ("id", "name", "vocabulary_id", "display_name")
    described = map(describe_tag, names)
    return Answer([{name: tag[name] for name in members} for tag in described], public=True)


class NoParameters(ActionParameters):
    """``license_list`` and ``site_read`` have none."""


def _list_licenses(request: Request, sent: Mapping[str, object]) -> Answer:
    NoParameters.parse(sent)
    return Answer(list_licenses(), public=True)


def _read_site(request: Request, sent: Mapping[str, object]) -> Answer:
    NoParameters.parse(sent)
    return Answer(result=True, public=True)


catalogue_actions = (
    _package_list,
    _package_show,
    _package_search,
    _package_autocomplete,
    _current_package_list_with_resources,
    _resource_show,
    _resource_search,
    _organization_list,
    _organization_show,
    _group_list,
    _tag_list,
    Action("license_list", NoParameters, _list_licenses, _("List the known licences.")),
    Action(
        "site_read",
        NoParameters,
        _read_site,
        _("Report that this portal can be read."),
        result=BOOLEAN,
    ),
)

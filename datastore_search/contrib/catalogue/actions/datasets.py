"""
The reading actions of CKAN's catalogue: datasets, resources, organizations, tags and licences.

Each resource is a dataset of its own, unless it is part of another.  Lists have the public ones,
as CKAN's; ``package_search`` has the private ones that the user may read, with ``include_private``.

Source: CKAN's actions of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ....api.actions.action import Action, Answer
from ....api.parameters import MAX_ROW_NUMBER, ActionParameters, make_printable
from ....api.permissions import authorize_read, get_reader
from ....guards.clients import Client
from ....messages.access import UnknownResource
from ....models import Resource, ResourceQuerySet
from ....search import open_snapshot
from ....web.addresses import ResourceAddresses
from ....web.caching import Validators
from ..conditions import match_format, match_text
from ..dataset import Group, ListedDataset, Organization
from ..datasets import (
    AnyGroup,
    Counted,
    Datasets,
    Facet,
    find_resource,
    open_public_datasets,
    open_readable_datasets,
    read_resources,
)
from ..descriptions import (
    describe_dataset,
    describe_group,
    describe_organization,
    describe_resource,
    describe_tag,
)
from ..errors import (
    InvalidCatalogueQuery,
    UnknownCatalogueField,
    UnknownDataset,
    UnknownOrganization,
)
from ..licenses import list_licenses
from ..models import get_metadata
from ..parameters import (
    DEFAULT_FACET_VALUES,
    DEFAULT_ROWS,
    MAX_FACET_VALUES,
    MAX_LISTED_NAMES,
    MAX_ROWS,
    CurrentPackagesParameters,
    GroupListParameters,
    NoParameters,
    OrganizationListParameters,
    OrganizationShowParameters,
    PackageListParameters,
    PackageSearchParameters,
    PackageShowParameters,
    ResourceSearchParameters,
    ResourceShowParameters,
    ResourceViewListParameters,
    TagListParameters,
)
from ..query import parse_catalogue_sort

DEFAULT_SORT = "score desc, metadata_modified desc"


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
        """Open the datasets that the user may see."""
        return open_readable_datasets(self.using, get_reader(self.request))

    def describe(self, listed: Iterable[ListedDataset]) -> list[dict[str, Any]]:
        """Describe datasets."""
        addresses = ResourceAddresses(self.request)
        return [describe_dataset(each, addresses) for each in listed]

    def bound(self, most: int) -> slice:
        """Read which part of a list is asked for, of at most this length."""
        offset = min(self.parameters.get("offset", 0), MAX_ROW_NUMBER)
        return slice(offset, offset + min(self.parameters.get("limit", most), most))

    def find_resource(self, name: str) -> Resource:
        """Find a resource; one never loaded is shown only to users who may change it."""
        return find_visible_resource(self.request, Resource.objects.using(self.using), name)

    def authorize_read(self, resource: Resource, name: str, *parts: object) -> Validators:
        """Let the user read a resource, and build the validators of the answer."""
        return authorize_read(self.request, resource, name, self.sent, *parts)


# Datasets -----------------------------------------------------------------------------------------


def _list_packages(call: _Call) -> Answer:
    names = call.open_datasets().list_names(call.bound(MAX_LISTED_NAMES))
    return Answer(names, public=not call.parameters.get("include_private"))


def _show_package(call: _Call) -> Answer:
    name = str(call.parameters.get("id") or call.parameters["name_or_id"])
    resource = None
    with suppress(UnknownResource):
        resource = call.find_resource(name)
    # Of all resources, only a part of a dataset of the portal's own may have its name.
    if resource and not (row := get_metadata(resource)).part_of_id:
        validators = call.authorize_read(resource, name)
        return Answer(call.describe([ListedDataset(row, [resource])])[0], validators=validators)
    if found := call.open_readable().find(name):
        return Answer(call.describe([found])[0], public=False)
    raise UnknownDataset(dataset=make_printable(name))


def _search_packages(call: _Call) -> Answer:
    parameters, datasets = call.parameters, call.open_datasets()
    for name in ("q", "fq"):
        datasets = datasets.matching(parameters.get(name, ""), name)
    sort = parameters.get("sort", DEFAULT_SORT)
    order = parse_catalogue_sort(sort)
    rows = min(parameters.get("rows", DEFAULT_ROWS), MAX_ROWS)
    start = min(parameters.get("start", 0), MAX_ROW_NUMBER)
    page, count = datasets.read_page(order, slice(start, start + rows))
    facets = _count_facets(datasets, parameters, count)
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


def _count_facets(
    datasets: Datasets, parameters: Mapping[str, Any], total: int
) -> dict[str, list[Facet]]:
    if not parameters.get("facet", True):
        return {}
    limit = min(parameters.get("facet_limit", DEFAULT_FACET_VALUES), MAX_FACET_VALUES)
    least = parameters.get("facet_mincount", 1)
    return {
        name: [each for each in datasets.count_facet(name, limit, total) if each.count >= least]
        for name in dict.fromkeys(parameters.get("facet_field", ()))
    }


def _list_current_packages(call: _Call) -> Answer:
    parameters = call.parameters
    if parameters.get("page") and "limit" in parameters:
        parameters["offset"] = (parameters["page"] - 1) * parameters["limit"]
    found = call.open_datasets().list_page(parse_catalogue_sort(""), call.bound(MAX_ROWS))
    return Answer(call.describe(found), public=True)


# Resources ----------------------------------------------------------------------------------------


def _show_resource(call: _Call) -> Answer:
    name = str(call.parameters["id"])
    resource = call.find_resource(name)
    place = call.open_readable().locate([resource])[resource.pk]
    validators = call.authorize_read(resource, name, repr(place))
    described = describe_resource(resource, ResourceAddresses(call.request), place)
    return Answer(described, validators=replace(validators, key=""))  # others change its place


def _list_resource_views(call: _Call) -> Answer:
    name = str(call.parameters["id"])
    return Answer([], validators=call.authorize_read(call.find_resource(name), name))


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


def _search_resources(call: _Call) -> Answer:
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
    resources = datasets.resources.filter(condition).order_by(_RESOURCE_ORDERS[order_by], "pk")
    found, count = read_resources(resources, bounds)
    addresses = ResourceAddresses(call.request)
    places = datasets.locate(found)
    results = [describe_resource(each, addresses, places[each.pk]) for each in found]
    return Answer({"count": count, "results": results}, public=True)


# Organizations, groups, tags, licences ------------------------------------------------------------


def _list_organizations(call: _Call) -> Answer:
    wanted = call.parameters.get("organizations")
    organizations = call.open_datasets().list_organizations()
    named = [each for each in organizations if not wanted or each.group.name in wanted]
    return _list_groups_of(call, named, _describe_organization)


def _list_groups_of(
    call: _Call, groups: list[Counted[AnyGroup]], describe: Callable[[Counted[AnyGroup]], Any]
) -> Answer:
    """Answer with the names of groups, or with their descriptions."""
    listed = groups[call.bound(MAX_ROWS)]
    if not call.parameters.get("all_fields"):
        return Answer([each.group.name for each in listed], public=True)
    return Answer(list(map(describe, listed)), public=True)


def _show_organization(call: _Call) -> Answer:
    name = call.parameters["id"]
    datasets = call.open_datasets()
    for each in datasets.list_organizations():
        if name in {each.group.name, each.group.id}:
            break
    else:
        raise UnknownOrganization(organization=make_printable(name))
    result = {**_describe_organization(each), "users": [], "extras": [], "groups": [], "tags": []}
    if call.parameters.get("include_datasets"):
        found = datasets.owned_by(each.group.name).list_page(
            parse_catalogue_sort(""), slice(0, MAX_ROWS)
        )
        result["packages"] = call.describe(found)
    return Answer(result, public=True)


def _describe_organization(counted: Counted[Organization]) -> dict[str, Any]:
    return {
        **describe_organization(counted.group),
        "display_name": counted.group.shown_title,
        "image_display_url": counted.group.image_url,
        "num_followers": 0,
        "package_count": counted.count,
    }


def _list_groups(call: _Call) -> Answer:
    def describe(counted: Counted[Group]) -> dict[str, Any]:
        return {**describe_group(counted.group), "type": "group", "package_count": counted.count}

    return _list_groups_of(call, call.open_datasets().list_groups(), describe)


def _list_tags(call: _Call) -> Answer:
    parameters = call.parameters
    part = parameters.get("query", "").strip().casefold()
    tags = [] if parameters.get("vocabulary_id") else call.open_datasets().list_tags()
    names = [each.name for each in tags if part in each.name.casefold()][:MAX_LISTED_NAMES]
    if not parameters.get("all_fields"):
        return Answer(names, public=True)
    members = ("id", "name", "vocabulary_id", "display_name")
    described = map(describe_tag, names)
    return Answer([{name: tag[name] for name in members} for tag in described], public=True)


def _list_licenses(request: Request, sent: Mapping[str, object]) -> Answer:
    NoParameters.parse(sent)
    return Answer(list_licenses(), public=True)


def _read_site(request: Request, sent: Mapping[str, object]) -> Answer:
    NoParameters.parse(sent)
    return Answer(result=True, public=True)


# Shared -------------------------------------------------------------------------------------------


def find_visible_resource(request: Request, resources: ResourceQuerySet, name: str) -> Resource:
    """Find a resource; one never loaded is shown only to users who may change it."""
    resource = find_resource(resources, name)
    if resource is None or not (
        resource.table_version_id or resource.permits(get_reader(request), "change")
    ):
        raise UnknownResource(resource=make_printable(name))
    return resource


def _build(
    name: str,
    parameters: type[ActionParameters],
    run: Callable[[_Call], Answer],
    description: str | Promise,
) -> Action:
    """Build an action that reads a database within the client's time limit."""

    def run_within_limits(request: Request, sent: Mapping[str, object]) -> Answer:
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            using = session.connection.alias
            return run(_Call(request, sent, parameters.parse(sent), using))

    return Action(name, parameters, run_within_limits, description)


catalogue_actions: Sequence[Action] = (
    _build("package_list", PackageListParameters, _list_packages, _("List the names of datasets.")),
    _build("package_show", PackageShowParameters, _show_package, _("Describe a dataset.")),
    _build("package_search", PackageSearchParameters, _search_packages, _("Search datasets.")),
    _build(
        "current_package_list_with_resources",
        CurrentPackagesParameters,
        _list_current_packages,
        _("Describe the datasets, the last modified first."),
    ),
    _build("resource_show", ResourceShowParameters, _show_resource, _("Describe a resource.")),
    _build(
        "resource_view_list",
        ResourceViewListParameters,
        _list_resource_views,
        _("List the views of a resource: there are none."),
    ),
    _build(
        "resource_search",
        ResourceSearchParameters,
        _search_resources,
        _("Find resources by parts of their members."),
    ),
    _build(
        "organization_list",
        OrganizationListParameters,
        _list_organizations,
        _("List the publishers of datasets."),
    ),
    _build(
        "organization_show",
        OrganizationShowParameters,
        _show_organization,
        _("Describe a publisher of datasets."),
    ),
    _build("group_list", GroupListParameters, _list_groups, _("List the groups of datasets.")),
    _build("tag_list", TagListParameters, _list_tags, _("List the tags of datasets.")),
    Action("license_list", NoParameters, _list_licenses, _("List the known licences.")),
    Action("site_read", NoParameters, _read_site, _("Report that this portal can be read.")),
)

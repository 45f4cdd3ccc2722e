"""
The reading actions of CKAN's catalogue: datasets, resources, organizations, tags and licences.

Each resource is a dataset of its own, unless the portal has others.  Lists have the public ones,
as CKAN's; ``package_search`` has the private ones that the user may read, with ``include_private``.

Source: CKAN's actions of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ....api.actions.action import Action, Answer, authorize_read
from ....api.parameters import MAX_ROW_NUMBER, ActionParameters, make_printable
from ....api.permissions import get_reader
from ....guards.clients import Client
from ....messages.access import UnknownDataset, UnknownOrganization, UnknownResource
from ....models import Resource
from ....search import open_snapshot
from ....web.addresses import ResourceAddresses
from ....web.caching import Validators
from ..conf import conf
from ..dataset import make_dataset
from ..datasets import CountedOrganization, Facet, find_resource, read_resources
from ..descriptions import (
    Addresses,
    describe_dataset,
    describe_group,
    describe_organization,
    describe_resource,
    describe_tag,
)
from ..errors import InvalidCatalogueQuery, UnknownCatalogueField
from ..licenses import list_licenses
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
from ..portal import (
    Datasets,
    find_place,
    open_portal_datasets,
    open_public_datasets,
    open_readable_datasets,
)
from ..query import SortTerm, parse_catalogue_sort
from ..resource_conditions import match_format, match_text

DEFAULT_SORT = "score desc, metadata_modified desc"


def build_addresses(request: Request) -> Addresses:
    """Build the absolute addresses of resources, with one look-up for each kind."""
    addresses = ResourceAddresses(request)
    return Addresses(
        dump=partial(addresses.build, "dump"), page=partial(addresses.build, "resource")
    )


# Datasets -----------------------------------------------------------------------------------------


def _list_packages(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = PackageListParameters.parse(sent)
    include_private = parameters.get("include_private", False)
    datasets = _open_datasets(request, using, include_private=include_private)
    names = datasets.list_names(_read_slice(parameters, MAX_LISTED_NAMES))
    return Answer(names, public=not include_private)


def _show_package(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = PackageShowParameters.parse(sent)
    name = str(parameters.get("id") or parameters["name_or_id"])
    if conf.DATASETS:
        found = open_portal_datasets(using, get_reader(request)).find(name)
        if found is None:
            raise UnknownDataset(dataset=make_printable(name))
        return Answer(describe_dataset(found, build_addresses(request)), public=False)
    resource, validators = _get_readable(request, sent, name, using)
    listed = make_dataset(resource)
    described = describe_dataset(listed, build_addresses(request))
    return Answer(described, validators=validators)


def _search_packages(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = PackageSearchParameters.parse(sent)
    include_private = parameters.get("include_private", False)
    datasets = _open_datasets(request, using, include_private=include_private)
    for name in ("q", "fq"):
        datasets = datasets.matching(parameters.get(name, ""), name)
    sort = parameters.get("sort", DEFAULT_SORT)
    order = parse_catalogue_sort(sort)
    rows = min(parameters.get("rows", DEFAULT_ROWS), MAX_ROWS)
    start = min(parameters.get("start", 0), MAX_ROW_NUMBER)
    page, count = datasets.read_page(order, slice(start, start + rows))
    addresses = build_addresses(request)
    facets = _count_facets(datasets, parameters)
    result = {
        "count": count,
        "facets": {
            name: {each.name: each.count for each in values} for name, values in facets.items()
        },
        "results": [describe_dataset(each, addresses) for each in page],
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
    return Answer(result, public=not include_private)


def _count_facets(datasets: Datasets, parameters: Mapping[str, Any]) -> dict[str, list[Facet]]:
    if not parameters.get("facet", True):
        return {}
    limit = min(parameters.get("facet_limit", DEFAULT_FACET_VALUES), MAX_FACET_VALUES)
    least = parameters.get("facet_mincount", 1)
    return {
        name: [each for each in datasets.count_facet(name, limit) if each.count >= least]
        for name in dict.fromkeys(parameters.get("facet_field", ()))
    }


def _list_current_packages(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = CurrentPackagesParameters.parse(sent)
    if parameters.get("page") and "limit" in parameters:
        parameters["offset"] = (parameters["page"] - 1) * parameters["limit"]
    datasets = open_public_datasets(using)
    order = parse_catalogue_sort("")
    found = datasets.list_page(order, _read_slice(parameters, MAX_ROWS))
    addresses = build_addresses(request)
    return Answer([describe_dataset(each, addresses) for each in found], public=True)


# Resources ----------------------------------------------------------------------------------------


def _show_resource(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    name = str(ResourceShowParameters.parse(sent)["id"])
    resource = _find_resource(request, name, using)
    place = find_place(using, get_reader(request), resource.pk)
    validators = authorize_read(request, resource, name, sent, repr(place))
    described = describe_resource(resource, build_addresses(request), place)
    return Answer(described, validators=validators)


def _list_resource_views(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    name = str(ResourceViewListParameters.parse(sent)["id"])
    _resource, validators = _get_readable(request, sent, name, using)
    return Answer([], validators=validators)


#: How each field of ``resource_search`` is compared.
_RESOURCE_FIELDS: Mapping[str, Callable[[str], Q]] = {
    "id": lambda text: Q(id__icontains=text),
    "name": lambda text: match_text("title", text) | Q(title="", name__icontains=text),
    "description": partial(match_text, "description"),
    "format": match_format,
}
_RESOURCE_ORDERS = {
    "name": SortTerm("name"),
    "created": SortTerm("metadata_created"),
    "last_modified": SortTerm("metadata_modified"),
}


def _search_resources(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = ResourceSearchParameters.parse(sent)
    condition = Q()
    for pair in parameters["query"]:
        name, colon, text = pair.partition(":")
        if not colon:
            raise InvalidCatalogueQuery(parameter="query", text=pair[:100])
        if name not in _RESOURCE_FIELDS:
            raise UnknownCatalogueField(parameter="query", field=name[:100])
        condition &= _RESOURCE_FIELDS[name](text)
    order_by = parameters.get("order_by", "name")
    if order_by not in _RESOURCE_ORDERS:
        raise UnknownCatalogueField(parameter="order_by", field=order_by[:100])
    bounds = _read_slice(parameters, MAX_ROWS)
    order = [_RESOURCE_ORDERS[order_by], SortTerm("id")]
    datasets = open_public_datasets(using)
    found, count = read_resources(datasets.resources.filter(condition), order, bounds)
    addresses = build_addresses(request)
    results = [describe_resource(each, addresses, datasets.locate(each.pk)) for each in found]
    return Answer({"count": count, "results": results}, public=True)


# Organizations, groups, tags, licences ------------------------------------------------------------


def _list_organizations(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = OrganizationListParameters.parse(sent)
    wanted = parameters.get("organizations")
    listed = [
        each
        for each in open_public_datasets(using).list_organizations()
        if not wanted or each.organization.name in wanted
    ][_read_slice(parameters, MAX_ROWS)]
    if not parameters.get("all_fields"):
        return Answer([each.organization.name for each in listed], public=True)
    return Answer([_describe_organization(each) for each in listed], public=True)


def _show_organization(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = OrganizationShowParameters.parse(sent)
    name = parameters["id"]
    datasets = open_public_datasets(using)
    for each in datasets.list_organizations():
        if name in {each.organization.name, each.organization.shown_id}:
            break
    else:
        raise UnknownOrganization(organization=make_printable(name))
    result = {**_describe_organization(each), "users": [], "extras": [], "groups": [], "tags": []}
    if parameters.get("include_datasets"):
        order = parse_catalogue_sort("")
        found = datasets.owned_by(each).list_page(order, slice(0, MAX_ROWS))
        addresses = build_addresses(request)
        result["packages"] = [describe_dataset(each, addresses) for each in found]
    return Answer(result, public=True)


def _describe_organization(counted: CountedOrganization) -> dict[str, Any]:
    return {
        **describe_organization(counted.organization),
        "display_name": counted.organization.shown_title,
        "image_display_url": counted.organization.image_url,
        "num_followers": 0,
        "package_count": counted.count,
    }


def _list_groups(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = GroupListParameters.parse(sent)
    groups = open_public_datasets(using).list_groups()
    listed = groups[_read_slice(parameters, MAX_ROWS)]
    if not parameters.get("all_fields"):
        return Answer([each.group.name for each in listed], public=True)
    described = [
        {**describe_group(each.group), "type": "group", "package_count": each.count}
        for each in listed
    ]
    return Answer(described, public=True)


def _list_tags(request: Request, sent: Mapping[str, object], using: str) -> Answer:
    parameters = TagListParameters.parse(sent)
    part = parameters.get("query", "").strip().casefold()
    is_in_vocabulary = bool(parameters.get("vocabulary_id"))
    tags = [] if is_in_vocabulary else open_public_datasets(using).list_tags()
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


def _find_resource(request: Request, name: str, using: str) -> Resource:
    """Find a resource; one never loaded is shown only to users who may change it."""
    resource = find_resource(Resource.objects.using(using), name)
    if resource is None or not (
        resource.table_version or resource.permits(get_reader(request), "change")
    ):
        raise UnknownResource(resource=make_printable(name))
    return resource


def _get_readable(
    request: Request, sent: Mapping[str, object], name: str, using: str
) -> tuple[Resource, Validators]:
    """Find a resource that the user may read, and build the validators of the answer."""
    resource = _find_resource(request, name, using)
    return resource, authorize_read(request, resource, name, sent)


def _open_datasets(request: Request, using: str, *, include_private: bool) -> Datasets:
    """Open the public datasets, or those that the user may see."""
    if include_private:
        return open_readable_datasets(using, get_reader(request))
    return open_public_datasets(using)


def _read_slice(parameters: Mapping[str, Any], most: int) -> slice:
    offset = min(parameters.get("offset", 0), MAX_ROW_NUMBER)
    return slice(offset, offset + min(parameters.get("limit", most), most))


def _build(
    name: str,
    parameters: type[ActionParameters],
    run: Callable[[Request, Mapping[str, object], str], Answer],
    description: str | Promise,
) -> Action:
    """Build an action that reads the database of this name, within the client's time limit."""

    def run_within_limits(request: Request, sent: Mapping[str, object]) -> Answer:
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            return run(request, sent, session.connection.alias)

    return Action(name=name, parameters=parameters, run=run_within_limits, help=description)


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
    Action(
        name="license_list",
        parameters=NoParameters,
        run=_list_licenses,
        help=_("List the known licences."),
    ),
    Action(
        name="site_read",
        parameters=NoParameters,
        run=_read_site,
        help=_("Report that this portal can be read."),
    ),
)

"""Ask the catalogue: the datasets that match, their tags and their organizations."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Self, TypeVar

from django.db.models import CharField, Count, F, Func, Max, Q, QuerySet, Sum, Window

from ...models import Resource, ResourceQuerySet, parse_resource_id
from .dataset import Group, ListedDataset, Organization, Place, build_publisher_name, make_dataset
from .descriptions import FORMAT
from .query import SortTerm, parse_catalogue_query
from .resource_conditions import build_resource_conditions, order_resources

AnyGroup = TypeVar("AnyGroup", bound=Group)

_HEAVY = ("options", "indexes", "primary_key")
_HEAVY_OF_TABLE = ("value_counts", "profiles", "field_formats", "indexes")


@dataclass(frozen=True, slots=True)
class Facet:
    """A value of datasets: its name, its title, and the number of datasets that have it."""

    name: str
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Counted(Generic[AnyGroup]):
    """A group, the number of its datasets, and the spellings of an organization's name."""

    group: AnyGroup
    count: int
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """
    The state of the listed resources: their number, and figures that change with any of them.

    Versions are times in microseconds, which only increase (``sql/versions.sql``).  ``digest`` is
    the digest of the datasets, if the portal has its own.
    """

    count: int
    last_version: int
    sum_of_versions: int
    digest: str = ""


# Resources as datasets ----------------------------------------------------------------------------


class _Unnest(Func):
    """The elements of an array, one in each row."""

    function = "unnest"
    set_returning = True
    output_field = CharField()


@dataclass(frozen=True)
class ResourceDatasets:
    """Resources as datasets: those that a user may see, or those that also meet a condition."""

    _listed: ResourceQuerySet
    _condition: Q = field(default_factory=Q)

    @property
    def resources(self) -> ResourceQuerySet:
        """The resources that meet the condition."""
        return self._listed.filter(self._condition)

    @cached_property
    def _publishers(self) -> list[str]:
        named = self._listed.exclude(publisher="")
        return list(named.values_list("publisher", flat=True).distinct())

    def matching(self, text: str, parameter: str) -> Self:
        """Keep the resources that meet a query."""
        conditions = build_resource_conditions(lambda: self._publishers)
        return self._keep(parse_catalogue_query(text, parameter, conditions))

    def owned_by(self, counted: Counted[Organization]) -> Self:
        """Keep the resources of an organization, by all spellings of its name."""
        return self._keep(Q(publisher__in=counted.spellings))

    def _keep(self, condition: Q) -> Self:
        return type(self)(self._listed, self._condition & condition)

    def read_state(self) -> CatalogueState:
        """Read their state in one statement."""
        return read_state(self.resources)

    def list_names(self, bounds: slice) -> list[str]:
        """List their names in order."""
        return list(self.resources.order_by("name").values_list("name", flat=True)[bounds])

    def list_page(self, order: Sequence[SortTerm], bounds: slice) -> list[ListedDataset]:
        """Read a page."""
        ordered = select_columns(self.resources).order_by(*order_resources(order))
        return [make_dataset(resource) for resource in ordered[bounds]]

    def read_page(
        self, order: Sequence[SortTerm], bounds: slice
    ) -> tuple[list[ListedDataset], int]:
        """Read a page, and count all datasets."""
        page, count = read_resources(self.resources, order, bounds)
        return [make_dataset(resource) for resource in page], count

    def count_facet(self, name: str, limit: int) -> list[Facet]:
        """Count a facet's ``limit`` most frequent values; other names have none."""
        facets: Sequence[Facet] = []
        if name == "tags":
            facets = self.list_tags()
        elif name == "organization":
            facets = [
                Facet(each.group.name, each.group.title, each.count)
                for each in self.list_organizations()
            ]
        elif name == "license_id":
            licensed = self.resources.exclude(license="").values_list("license")
            facets = [Facet(each, each, n) for each, n in licensed.annotate(n=Count("pk"))]
        elif name == "res_format":
            count = self.resources.count()
            facets = [Facet(FORMAT, FORMAT, count)] if count else []
        return sort_by_count(facets)[:limit]

    def list_organizations(self) -> list[Counted[Organization]]:
        """List the publishers; the title of spellings with one name is the first of them."""
        named = self.resources.exclude(publisher="")
        counted = named.values_list("publisher").annotate(n=Count("pk")).order_by("publisher")
        merged: dict[str, Counted[Organization]] = {}
        for spelling, count in counted:
            name = build_publisher_name(spelling)
            known = merged.get(name, Counted(Organization(name, spelling), 0))
            merged[name] = Counted(known.group, known.count + count, (*known.spellings, spelling))
        return [merged[name] for name in sorted(merged)]

    def list_groups(self) -> list[Counted[Group]]:
        """Return an empty list: resources have no groups."""
        return []

    def list_tags(self) -> list[Facet]:
        """List the tags in order."""
        tags = self.resources.annotate(tag=_Unnest(F("tags"))).values_list("tag")
        counted = tags.annotate(n=Count("pk"))
        return sort_by_name(Facet(tag, tag, count) for tag, count in counted)

    def locate(self, resource_id: uuid.UUID) -> Place | None:
        """Find the resource as the first one of its own dataset."""
        return Place(str(resource_id), 0)


# Resources ----------------------------------------------------------------------------------------


def list_loaded_resources(using: str) -> ResourceQuerySet:
    """List the loaded resources in a database, in no order."""
    return Resource.objects.using(using).filter(table_version__isnull=False).order_by()


def read_state(resources: ResourceQuerySet) -> CatalogueState:
    """Read the state of resources in one statement."""
    figures = resources.aggregate(Count("pk"), Max("version"), Sum("version"))
    return CatalogueState(
        figures["pk__count"], figures["version__max"] or 0, int(figures["version__sum"] or 0)
    )


def read_resources(
    found: ResourceQuerySet, order: Sequence[SortTerm], bounds: slice
) -> tuple[list[Resource], int]:
    """Read a page of resources, and count them all."""
    ids, count = find_page(found.order_by(*order_resources(order)), bounds)
    by_id = select_columns(Resource.objects.using(found.db)).in_bulk(ids) if ids else {}
    return [by_id[pk] for pk in ids if pk in by_id], count


def find_page(found: QuerySet[Resource], bounds: slice) -> tuple[list[uuid.UUID], int]:
    """Find a page's ids and count all resources in one statement, which may read every text."""
    numbered = found.annotate(total=Window(Count("pk"))).values_list("pk", "total")
    numbers = list(numbered[bounds]) if bounds.stop > bounds.start else []
    if numbers:
        return [pk for pk, _total in numbers], numbers[0][1]
    return [], found.count() if bounds.start or bounds.stop == bounds.start else 0


def select_columns(resources: ResourceQuerySet) -> ResourceQuerySet:
    """Select the table version with each resource, without columns that no description needs."""
    return resources.select_related("table_version").defer(
        *_HEAVY, *(f"table_version__{name}" for name in _HEAVY_OF_TABLE)
    )


def find_resource(resources: ResourceQuerySet, name: str) -> Resource | None:
    """Find a resource by its id, its name, or else one of its aliases."""
    selected = select_columns(resources)
    found = [selected.filter(name=name[:200]), selected.named(name)]
    if parse_resource_id(name):
        found.reverse()
    return found[0].first() or found[1].first()


# Facets -------------------------------------------------------------------------------------------


def sort_by_count(facets: Iterable[Facet]) -> list[Facet]:
    """Sort by count, the highest first, then by name."""
    return sorted(facets, key=lambda facet: (-facet.count, facet.name))


def sort_by_name(facets: Iterable[Facet]) -> list[Facet]:
    """Sort by name, without regard to case."""
    return sorted(facets, key=lambda facet: facet.name.casefold())

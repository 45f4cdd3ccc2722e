"""Ask the catalogue: the datasets that match, and how many there are of each tag or publisher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import CharField, Count, F, Func, Max, Q, Sum, Window
from django.db.models.expressions import OrderBy

from ..models import Reader, Resource, ResourceQuerySet
from .descriptions import FORMAT, build_publisher_name

_HEAVY = ("options", "indexes", "primary_key")
_HEAVY_OF_TABLE = ("value_counts", "profiles", "field_formats", "indexes", "load")


@dataclass(frozen=True, slots=True)
class FoundDatasets:
    """A page of datasets, and how many there are in all."""

    count: int
    page: Sequence[Resource]


@dataclass(frozen=True, slots=True)
class Facet:
    """A value that datasets have in common: its name, what is shown of it, how many have it."""

    name: str
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Publisher(Facet):
    """A publisher; spellings with one name are one publisher, whose title is the first of them."""

    spellings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """
    The state of the public resources: their number, and figures that change with any of them.

    Versions are times in microseconds, which only increase (``sql/versions.sql``).
    """

    count: int
    last_version: int
    sum_of_versions: int


class _Unnest(Func):
    """The elements of an array, each in a row."""

    function = "unnest"
    set_returning = True
    output_field = CharField()


def list_public_resources(using: str) -> ResourceQuerySet:
    """List the loaded resources in a database that everyone may read."""
    return _list_loaded(using).filter(private=False)


def read_public_state(using: str) -> CatalogueState:
    """Read the state of the resources that everyone may read, in one statement."""
    figures = list_public_resources(using).aggregate(Count("pk"), Max("version"), Sum("version"))
    return CatalogueState(
        figures["pk__count"], figures["version__max"] or 0, int(figures["version__sum"] or 0)
    )


def list_readable_resources(using: str, reader: Reader) -> ResourceQuerySet:
    """List the loaded resources in a database that a user may read."""
    loaded = _list_loaded(using)
    return loaded.filter(loaded.readable_by(reader).condition)


def _list_loaded(using: str) -> ResourceQuerySet:
    return Resource.objects.using(using).filter(table_version__isnull=False).order_by()


def search_datasets(
    resources: ResourceQuerySet, condition: Q, order: Sequence[OrderBy], start: int, rows: int
) -> FoundDatasets:
    """
    Read a page of the datasets that meet a condition, and count them all.

    The condition may read every text of the catalogue, so one statement finds the page and counts.
    """
    found = resources.filter(condition)
    numbered = found.annotate(total=Window(Count("pk"))).order_by(*order).values_list("pk", "total")
    numbers = list(numbered[start : start + rows]) if rows else []
    if not numbers:
        return FoundDatasets(found.count() if start or not rows else 0, [])
    by_id = select_columns(resources).in_bulk([pk for pk, _total in numbers])
    return FoundDatasets(numbers[0][1], [by_id[pk] for pk, _total in numbers if pk in by_id])


def select_columns(resources: ResourceQuerySet) -> ResourceQuerySet:
    """Read the table version with each resource, and nothing that no description shows."""
    return resources.select_related("table_version").defer(
        *_HEAVY, *(f"table_version__{name}" for name in _HEAVY_OF_TABLE)
    )


def get_dataset(using: str, name: str) -> Resource | None:
    """Find a resource by its id, one of its aliases, or its name."""
    resources = select_columns(Resource.objects.using(using))
    return resources.named(name).first() or resources.filter(name=name[:200]).first()


def list_publishers(resources: ResourceQuerySet) -> list[Publisher]:
    """List the publishers of resources by name."""
    counted = resources.exclude(publisher="").values_list("publisher").annotate(n=Count("pk"))
    merged: dict[str, Publisher] = {}
    for spelling, count in counted.order_by("publisher"):
        name = build_publisher_name(spelling)
        known = merged.get(name, Publisher(name, spelling, 0, ()))
        merged[name] = Publisher(
            name, known.title, known.count + count, (*known.spellings, spelling)
        )
    return sorted(merged.values(), key=lambda facet: facet.name)


def list_tags(resources: ResourceQuerySet) -> list[Facet]:
    """List the tags of resources by name."""
    tags = resources.annotate(tag=_Unnest(F("tags"))).values_list("tag").annotate(n=Count("pk"))
    return sorted(
        (Facet(tag, tag, count) for tag, count in tags), key=lambda facet: facet.name.casefold()
    )


def count_facet(resources: ResourceQuerySet, name: str, limit: int) -> list[Facet]:
    """
    Count the values of ``tags``, ``organization``, ``license_id`` or ``res_format``.

    The most frequent come first, ``limit`` of them at most; other names have no values.
    """
    facets: Sequence[Facet] = []
    if name == "tags":
        facets = list_tags(resources)
    elif name == "organization":
        facets = list_publishers(resources)
    elif name == "license_id":
        counted = resources.exclude(license="").values_list("license").annotate(n=Count("pk"))
        facets = [Facet(each, each, count) for each, count in counted]
    elif name == "res_format":
        count = resources.count()
        facets = [Facet(FORMAT, FORMAT, count)] if count else []
    return sorted(facets, key=lambda facet: (-facet.count, facet.name))[:limit]

"""Ask the catalogue: the datasets that match, their tags, organizations and groups."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

from django.db.models import (
    CharField,
    Count,
    F,
    Func,
    JSONField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Window,
)
from django.db.models.functions import Coalesce

from ...models import Field, Reader, Resource, ResourceQuerySet, parse_resource_id
from .conditions import (
    Readable,
    build_columns,
    build_fields,
    match_dataset_word,
    match_word,
    order_datasets,
)
from .dataset import Group, ListedDataset, Organization, Place
from .descriptions import FORMAT
from .models import Dataset, get_metadata
from .query import EVERYTHING, SortTerm, parse_catalogue_query

AnyGroup = TypeVar("AnyGroup", bound=Group)
Row = TypeVar("Row", Dataset, Resource)

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
    """A group or an organization, and the number of its datasets."""

    group: AnyGroup
    count: int


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """
    The state of what is listed: its number, and figures that change with any of it.

    Versions are times in microseconds, which only increase (``sql/versions.sql``).
    """

    count: int
    last_version: int
    sum_of_versions: int


# Datasets -----------------------------------------------------------------------------------------


class _Unnest(Func):
    """The elements of an array, or of a JSON list, one in each row."""

    function = "unnest"
    set_returning = True


@dataclass(frozen=True)
class Datasets:
    """
    The datasets that a user may see, or those that also meet a condition.

    Some are missing unless ``is_complete``.
    """

    _readable: Readable
    is_complete: bool = True
    _condition: Q = field(default_factory=Q)

    @property
    def resources(self) -> ResourceQuerySet:
        """The resources that the user may read."""
        return self._readable.resources

    @property
    def rows(self) -> QuerySet[Dataset]:
        """The datasets as rows, with the columns of ``build_columns``, in no order."""
        is_seen = self._readable.of_datasets
        if self._readable.has_portal_datasets:
            of_portal = Q(is_public=True) | self._readable.match_parts(EVERYTHING)
            is_seen = is_seen & Q(part_of=None) | Q(resource=None) & of_portal
        return self._rows.filter(is_seen, self._condition)

    @property
    def _rows(self) -> QuerySet[Dataset]:
        rows = Dataset.objects.using(self._readable.loaded.db)
        return rows.alias(**build_columns(self._readable))

    def matching(self, text: str, parameter: str) -> Self:
        """Keep the datasets that meet a query."""
        return self._keep(parse_catalogue_query(text, parameter, build_fields(self._readable)))

    def match_word(self, word: str) -> Q:
        """Match the datasets that hold a word, or have a resource that does."""
        return build_fields(self._readable)[""](word)

    def owned_by(self, name: str) -> Self:
        """Keep the datasets of an organization."""
        return self._keep(Q(organization_name=name))

    def _keep(self, condition: Q) -> Self:
        return replace(self, _condition=self._condition & condition)

    def find(self, name: str) -> ListedDataset | None:
        """Find a dataset of the portal's own by its id or its name."""
        named = Dataset.objects.using(self.resources.db).filter(Q(pk=name) | Q(name=name))
        ids = list(named.filter(resource=None).values_list("pk", flat=True))
        return (
            next(iter(self._read(self.rows.filter(pk__in=ids).values("pk"))), None) if ids else None
        )

    def read_state(self) -> CatalogueState:
        """Read the state of the datasets and of their resources in one statement."""
        below: Any = F("resource__version")
        if self._readable.has_portal_datasets:
            parts = self.resources.filter(dataset__part_of=OuterRef("pk")).order_by()
            sums = parts.values("dataset__part_of").annotate(sum=Sum("version") + Count("pk"))
            below = Coalesce(below, Subquery(sums.values("sum")), 0)
        return _read_state(self.rows.annotate(below=below), F("version") + F("below"))

    def list_names(self, bounds: slice) -> list[str]:
        """List their names in order."""
        names = self.rows.annotate(listed_as=F("shown_as")).order_by(F("shown_as"))
        return list(names.values_list("listed_as", flat=True)[bounds])

    def list_page(self, order: Sequence[SortTerm], bounds: slice) -> list[ListedDataset]:
        """Read a page in one statement, and one more for parts."""
        rows = self.rows.order_by(*order_datasets(order))
        return self._read(rows.values("pk")[bounds], order)

    def read_page(
        self, order: Sequence[SortTerm], bounds: slice, rows: QuerySet[Dataset] | None = None
    ) -> tuple[list[ListedDataset], int]:
        """Read a page, and count all datasets, or all of some ``rows``."""
        found = self.rows if rows is None else rows
        ids, count = find_page(found.order_by(*order_datasets(order)), bounds)
        return self._read(ids, order) if ids else [], count

    def _read(self, ids: Any, order: Sequence[SortTerm] = ()) -> list[ListedDataset]:
        """Read datasets with the resources that the user may read, and their ``field_count``."""
        rows = self._rows.filter(pk__in=ids).order_by(*order_datasets(order))
        rows = rows.select_related("resource__table_version").defer(*_list_heavy("resource__"))
        datasets = list(rows.annotate(field_count=count_fields("resource_id")))
        parts = self._list_parts(each.pk for each in datasets if each.resource is None)
        listed = []
        for dataset in datasets:
            resources = parts[dataset.pk]
            if dataset.resource:
                vars(dataset.resource)["field_count"] = vars(dataset)["field_count"]
                resources = [dataset.resource]
            listed.append(ListedDataset(dataset, resources))
        return listed

    def _list_parts(self, ids: Iterable[str]) -> Mapping[str | None, Sequence[Resource]]:
        """List the resources of datasets of the portal's own, in order."""
        found: defaultdict[str | None, list[Resource]] = defaultdict(list)
        parts = select_columns(self.resources).annotate(field_count=count_fields("pk"))
        shown = parts.filter(dataset__part_of__in=[*ids])
        for resource in shown.order_by("dataset__position", "pk"):
            found[get_metadata(resource).part_of_id].append(resource)
        return found

    def locate(self, resources: Sequence[Resource]) -> Mapping[uuid.UUID, Place]:
        """Find the place of each resource, among those that the user may read."""
        homes = {each.pk: get_metadata(each).part_of_id for each in resources}
        parts = self._list_parts(filter(None, homes.values()))
        numbers = {part.pk: number for home in parts.values() for number, part in enumerate(home)}
        return {pk: Place(home or str(pk), numbers.get(pk, 0)) for pk, home in homes.items()}

    def count_facet(self, name: str, limit: int) -> list[Facet]:
        """Count a facet's ``limit`` most frequent values; other names have none."""
        facets: Sequence[Facet] = []
        if name == "tags":
            facets = self.list_tags()
        elif name in {"organization", "groups"}:
            groups = self.list_groups() if name == "groups" else self.list_organizations()
            facets = [Facet(each.group.name, each.group.shown_title, each.count) for each in groups]
        elif name == "license_id":
            licensed = self.rows.exclude(license="").values_list("license")
            facets = [Facet(each, each, n) for each, n in licensed.annotate(n=Count("pk"))]
        elif name == "res_format":
            count = self.matching(f"res_format:{FORMAT}", "").rows.count()
            facets = [Facet(FORMAT, FORMAT, count)] if count else []
        return sorted(facets, key=lambda facet: (-facet.count, facet.name))[:limit]

    def list_organizations(self) -> list[Counted[Organization]]:
        """List the organizations; of several titles of a name, the first one is shown."""
        owned = self.rows.exclude(Q(organization_name="")).values_list("organization")
        return _count_groups(Organization, owned.annotate(n=Count("pk")))

    def list_groups(self) -> list[Counted[Group]]:
        """List the groups."""
        groups = self.rows.annotate(
            group=_Unnest("groups", function="jsonb_array_elements", output_field=JSONField())
        ).values_list("group")
        return _count_groups(Group, groups.annotate(n=Count("pk")))

    def list_tags(self) -> list[Facet]:
        """List the tags in order."""
        tags = self.rows.annotate(tag=_Unnest("tags", output_field=CharField())).values_list("tag")
        facets = (Facet(tag, tag, count) for tag, count in tags.annotate(n=Count("pk")))
        return sorted(facets, key=lambda facet: facet.name.casefold())


def _count_groups(
    kind: type[AnyGroup], counted: Iterable[tuple[Any, int]]
) -> list[Counted[AnyGroup]]:
    merged: dict[str, Counted[AnyGroup]] = {}
    rows = ((kind(**value), count) for value, count in counted)
    for group, count in sorted(rows, key=lambda row: row[0].shown_title):
        known = merged.get(group.name, Counted(group, 0))
        merged[group.name] = Counted(known.group, known.count + count)
    return [merged[name] for name in sorted(merged)]


def open_public_datasets(using: str) -> Datasets:
    """Open the datasets that everyone may see."""
    return Datasets(Readable(list_loaded_resources(using), Q(private=False)))


def open_readable_datasets(using: str, reader: Reader) -> Datasets:
    """Open the datasets that a user may see."""
    loaded = list_loaded_resources(using)
    readable = loaded.readable_by(reader)
    return Datasets(Readable(loaded, readable.condition), readable.is_complete)


def find_dataset_of(resource: Resource) -> Dataset | None:
    """Find the dataset of the portal's own that a resource is part of."""
    row = get_metadata(resource)
    homes = Dataset.objects.using(resource._state.db)  # noqa: SLF001 - Django documents it
    return homes.filter(pk=row.part_of_id).first() if row.part_of_id else None


# Resources ----------------------------------------------------------------------------------------


def list_loaded_resources(using: str) -> ResourceQuerySet:
    """List the loaded resources in a database, in no order."""
    return Resource.objects.using(using).filter(table_version__isnull=False).order_by()


def count_fields(resource: str) -> Any:
    """Count the fields of the resource whose id is in a column."""
    # A join would count the fields of all resources, not of those on the page alone.
    fields = Field.objects.filter(resource=OuterRef(resource)).order_by().values("resource")
    return Coalesce(Subquery(fields.annotate(number=Count("pk")).values("number")), 0)


def match_table(word: str) -> Q:
    """Match the resources that hold a word, or whose dataset of the portal's own does."""
    held = Dataset.objects.filter(match_dataset_word(word), resource=None)
    return match_word(word) | Q(dataset__part_of__in=held)


def read_state(resources: ResourceQuerySet) -> CatalogueState:
    """Read the state of resources in one statement."""
    return _read_state(resources, F("version"))


def _read_state(rows: QuerySet[Any], version: Any) -> CatalogueState:
    figures = rows.aggregate(count=Count("pk"), last=Max(version), sum=Sum(version))
    return CatalogueState(figures["count"], int(figures["last"] or 0), int(figures["sum"] or 0))


def read_resources(found: ResourceQuerySet, bounds: slice) -> tuple[list[Resource], int]:
    """Read a page of resources in order, and count them all."""
    ids, count = find_page(found, bounds)
    by_id = select_columns(Resource.objects.using(found.db)).in_bulk(ids) if ids else {}
    return [by_id[pk] for pk in ids if pk in by_id], count


def find_page(found: QuerySet[Row], bounds: slice) -> tuple[list[Any], int]:
    """Find a page's ids and count all rows in one statement, which may read every text."""
    numbered = found.annotate(total=Window(Count("pk"))).values_list("pk", "total")
    numbers = list(numbered[bounds]) if bounds.stop > bounds.start else []
    if numbers:
        return [pk for pk, _total in numbers], numbers[0][1]
    return [], found.count() if bounds.start or bounds.stop == bounds.start else 0


def select_columns(resources: ResourceQuerySet) -> ResourceQuerySet:
    """Select the table version and the metadata, without columns that no description needs."""
    return resources.select_related("table_version", "dataset").defer(*_list_heavy(""))


def _list_heavy(resource: str) -> Iterable[str]:
    of_table = (f"table_version__{name}" for name in _HEAVY_OF_TABLE)
    return (f"{resource}{name}" for name in (*_HEAVY, *of_table))


def find_resource(resources: ResourceQuerySet, name: str) -> Resource | None:
    """Find a resource by its id, its name, or else one of its aliases."""
    selected = select_columns(resources)
    found = [selected.filter(name=name[:200]), selected.named(name)]
    if parse_resource_id(name):
        found.reverse()
    return found[0].first() or found[1].first()

"""Ask the catalogue: the datasets that match, their tags, organizations and groups."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any, Self, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    Func,
    JSONField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
    Window,
)
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, FilterSet

from ...filters.names import SortKey
from ...guards.cache import BoundedCache
from ...messages.search import TooManyWords
from ...models import Field, Reader, Resource, ResourceQuerySet, parse_resource_id
from .access import match_private
from .conditions import (
    Readable,
    build_columns,
    build_fields,
    build_shared_columns,
    list_loaded_resources,
    list_resources,
    match_tag,
    match_word,
    order_datasets,
    read_format,
)
from .models import (
    Dataset,
    DatasetPosition,
    Group,
    ListedDataset,
    Organization,
    State,
    Use,
    build_organization,
    get_metadata,
)
from .query import EVERYTHING, NOTHING, parse_catalogue_query
from .uses import find_first_day

AnyGroup = TypeVar("AnyGroup", bound=Group)
AnyRow = TypeVar("AnyRow", Dataset, Resource)

_HEAVY = ("options", "indexes", "primary_key")
_HEAVY_OF_TABLE = ("value_counts", "profiles", "field_formats", "indexes")
#: What only datasets of the portal's own have, and the description of a dataset.
_OF_PORTAL = (
    *("name", "title", "notes", "content_language", "translations", "is_public", "organization"),
    *("groups", "version_name", "author", "author_email", "extras", "metadata_created"),
    *("metadata_modified", "version", "modified_at", "state"),
)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of datasets: its name, its title, and the number of datasets that have it."""

    name: str
    title: str
    count: int


#: A group or an organization, and the number of its datasets.
Counted = tuple[AnyGroup, int]


#: The number of what is listed, and two figures that change with any of it: the last version and
#: the sum.  Versions are times in microseconds, which only increase (``sql/versions.sql``).
CatalogueState = tuple[int, int, int]

# Datasets -----------------------------------------------------------------------------------------

#: Fewer resources, and longer pages, are sorted without an index in about the same time.
MIN_INDEXED = 1_000
MAX_FIRST = 100


class _Unnest(Func):
    function = "unnest"
    set_returning = True


@dataclass(frozen=True)
class Datasets:
    """Datasets that a user may see, and that meet a condition; all if the list ``is_complete``."""

    _readable: Readable
    is_complete: bool = True
    _condition: Q = field(default_factory=Q)

    @property
    def resources(self) -> ResourceQuerySet:
        return self._readable.resources

    @property
    def listed(self) -> ResourceQuerySet:
        return self._readable.listed

    @property
    def rows(self) -> QuerySet[Any]:
        """The datasets, or their resources if the portal has none of its own, in no order."""
        rows: QuerySet[Any] = self.resources
        if self._readable.has_portal_datasets:
            rows = Dataset.objects.using(rows.db)
            rows = rows.filter(self._match_single() | self._match_of_portal())
        if self._condition:
            columns, used = build_columns(self._readable), self._condition.referenced_base_fields
            rows = rows.alias(**{name: columns[name] for name in columns.keys() & used})
            rows = rows.filter(self._condition)
        return rows

    def _match_single(self) -> Q:
        return Q(resource__in=self.resources, part_of=None)

    def _match_of_portal(self) -> Q:
        seen = Q(is_public=True) | self._readable.match_parts(EVERYTHING) | self._readable.private
        return Q(resource=None, state=State.ACTIVE) & seen

    @property
    def _described(self) -> QuerySet[Dataset]:
        if self._readable.has_portal_datasets:
            return self.rows
        rows = Dataset.objects.using(self.resources.db)
        if self._condition:
            return rows.filter(resource__in=self.rows.values("pk"))
        return self._exclude_hidden(rows)

    def _exclude_hidden(self, rows: QuerySet[Dataset]) -> QuerySet[Dataset]:
        # Few resources are hidden, so PostgreSQL has less to join.
        is_readable = self._readable.condition & Q(table_version__isnull=False)
        hidden = Resource.objects.using(rows.db).exclude(is_readable).order_by()
        return rows.exclude(Exists(hidden.filter(pk=OuterRef("resource_id"))))

    def matching(self, text: str, parameter: str, found: Q = NOTHING) -> Self:
        """Keep the datasets that meet a query, and those that are ``found`` otherwise."""
        if not text.strip():
            return self
        condition = parse_catalogue_query(text, parameter, build_fields(self._readable))
        return self._keep(condition | found)

    def match_word(self, word: str) -> Q:
        return build_fields(self._readable)[""](word)

    def match_resources(self, found: ResourceQuerySet) -> Q:
        return self._readable.match_resources(found)

    def owned_by(self, name: str) -> Self:
        """Keep the datasets of the organization with a name or an id."""
        return self._keep(Q(organization_name=name) | Q(organization_id=name))

    def named_like(self, part: str) -> Self:
        """Keep the datasets with a part in the name or the title."""
        return self._keep(Q(shown_as__icontains=part) | Q(sorted_as__icontains=part))

    def in_group(self, name: str) -> Self:
        return self._keep(build_fields(self._readable)["groups"](name))

    def tagged(self, tag: str) -> Self:
        """Keep the datasets that have a tag, in upper or lower case."""
        return self._keep(match_tag(tag))

    def _keep(self, condition: Q) -> Self:
        if not self._readable.has_portal_datasets:
            condition &= Q(dataset__isnull=False)  # an inner join, as each resource has a row
        return replace(self, _condition=self._condition & condition)

    def find(self, name: str) -> ListedDataset | None:
        named = Dataset.objects.using(self.resources.db).filter(Q(pk=name) | Q(name=name))
        ids = list(named.filter(resource=None).values_list("pk", flat=True))
        found = self.read(self.rows.filter(pk__in=ids).values("pk")) if ids else []
        return found[0] if found else None

    def read_state(self) -> CatalogueState:
        """Read the state of the datasets and of their resources in one statement."""
        if not self._readable.has_portal_datasets:  # a dataset has the version of its resource
            return read_state(self.rows)
        parts = self.listed.filter(dataset__part_of=OuterRef("pk")).order_by()
        sums = parts.values("dataset__part_of").annotate(sum=Sum("version") + Count("pk"))
        below = Coalesce(F("resource__version"), Subquery(sums.values("sum")), 0)
        return read_state(self.rows.annotate(below=below), F("version") + F("below"))

    def list_names(self, bounds: slice) -> list[str]:
        name = build_shared_columns(self._readable)["shown_as"]
        names = self.rows.annotate(listed_as=name).order_by("listed_as")
        return list(names.values_list("listed_as", flat=True)[bounds])

    def list_page(self, order: Sequence[SortKey], bounds: slice) -> list[ListedDataset]:
        """Read a page in one statement, and one more for parts."""
        ordered = order_datasets(self._readable, order)
        return self.read(self.rows.order_by(*ordered).values("pk")[bounds], *ordered)

    def read_page(
        self, order: Sequence[SortKey], bounds: slice, rows: QuerySet[Any] | None = None
    ) -> tuple[list[ListedDataset], int]:
        """Read a page, and count all datasets; or some ``rows`` with their ``field_count``."""
        ordered, others = order_datasets(self._readable, order), 0
        is_all = rows is None and not self._condition
        is_by_time = order[0].field == "metadata_modified" and order[1:] == [SortKey("id")]
        if is_all and not self._readable.has_portal_datasets:
            page = self.list_page(order, bounds) if bounds.stop > bounds.start else []
            return page, self.rows.count()
        if is_all and is_by_time and bounds.stop <= MAX_FIRST:
            found, others = self._find_first(order[0], bounds.stop)
        else:
            found = self.rows if rows is None else rows
        ids, count = find_page(found.order_by(*ordered), bounds)
        read = self.read(ids, counts=rows is not None) if ids else []
        by_id = {each.dataset.pk: each for each in read}
        return [by_id[pk] for pk in map(str, ids) if pk in by_id], count + others

    def _find_first(self, time: SortKey, number: int) -> tuple[QuerySet[Any], int]:
        """
        Find datasets that include the first ``number`` by time, and count all others.

        Of the datasets with the time of their only resource, an index finds the first.
        """
        rows = Dataset.objects.using(self.resources.db)
        single = rows.filter(resource__isnull=False, part_of=None, metadata_modified=None)
        count = self._exclude_hidden(single).count()
        if count < MIN_INDEXED:
            return self.rows, 0
        is_single = Q(dataset__isnull=False, dataset__part_of=None, dataset__metadata_modified=None)
        nulls = {"nulls_last" if time.descending else "nulls_first": True}
        order = OrderBy(F("modified_at"), descending=time.descending, **nulls), "dataset__pk"
        ids = self.resources.filter(is_single).order_by(*order).values_list("pk", flat=True)
        first = list(ids[:number])
        has_time = Q(resource__isnull=False, metadata_modified__isnull=False)
        found = Q(resource__in=first) | has_time & self._match_single() | self._match_of_portal()
        return rows.filter(found), count - len(first)

    def read(self, ids: Any, *order: OrderBy, counts: bool = False) -> list[ListedDataset]:
        """Read datasets with the resources that the user may read, with ``counts`` of fields."""
        using = self.resources.db
        if not self._readable.has_portal_datasets:
            number = {"field_count": count_fields("pk")} if counts else {}
            resources = select_columns(Resource.objects.using(using)).annotate(**number)
            shown = resources.filter(pk__in=ids).order_by(*order)
            return [ListedDataset(get_metadata(each), [each]) for each in shown]
        rows = Dataset.objects.using(using).annotate(field_count=count_fields("resource_id"))
        rows = rows.select_related("resource__table_version").defer(*_list_heavy("resource__"))
        datasets = list(rows.filter(pk__in=ids).order_by(*order))
        parts = self._list_parts(each.pk for each in datasets if each.resource is None)
        for each in datasets:
            if each.resource:
                vars(each.resource)["field_count"] = vars(each)["field_count"]
                parts[each.pk] = [each.resource]
        return [ListedDataset(each, parts.get(each.pk, ())) for each in datasets]

    def _list_parts(self, ids: Iterable[str]) -> dict[str | None, list[Resource]]:
        found: defaultdict[str | None, list[Resource]] = defaultdict(list)
        if not (homes := list(ids)):
            return found
        parts = select_listed(self.listed).annotate(field_count=count_fields("pk"))
        shown = parts.filter(dataset__part_of__in=homes)
        for resource in shown.order_by("dataset__position", "pk"):
            found[get_metadata(resource).part_of_id].append(resource)
        return found

    def list_used(self, limit: int) -> Sequence[tuple[Resource, int]]:
        """List the tables with the most uses since ``find_first_day``, and their number of uses."""
        uses = Use.objects.using(self.resources.db).filter(resource__in=self.resources)
        counts = uses.filter(month__gte=find_first_day()).values_list("resource")
        most = dict(counts.annotate(n=Sum("requests")).order_by("-n", "resource")[:limit])
        by_id = Resource.objects.using(self.resources.db).defer(*_HEAVY).in_bulk(most)
        return [(by_id[pk], number) for pk, number in most.items() if pk in by_id]

    def locate(self, resources: Sequence[Resource]) -> Mapping[uuid.UUID, DatasetPosition]:
        """Find the place of each resource, among those that the user may read."""
        homes = {each.pk: get_metadata(each).part_of_id for each in resources}
        parts = self._list_parts(filter(None, homes.values()))
        numbers = {part.pk: number for home in parts.values() for number, part in enumerate(home)}
        return {
            pk: DatasetPosition(home or str(pk), numbers.get(pk, 0)) for pk, home in homes.items()
        }

    def count_facet(self, name: str, limit: int) -> list[FacetValue]:
        """Count the ``limit`` most frequent values; an unknown facet has none."""
        facets: Sequence[FacetValue] = []
        if name == "tags":
            facets = self.list_tags()
        elif name in {"organization", "owner_org", "groups"}:
            groups = self.list_groups() if name == "groups" else self.list_organizations()
            member = "id" if name == "owner_org" else "name"
            facets = [FacetValue(getattr(g, member), g.shown_title, count) for g, count in groups]
        elif name == "license_id":
            licensed = self._described.exclude(license="").values_list("license")
            facets = [FacetValue(each, each, n) for each, n in licensed.annotate(n=Count("pk"))]
        elif name == "res_format":
            home: Combinable = F("pk")
            found = self.rows
            if self._readable.has_portal_datasets:
                home = Coalesce("dataset__part_of", "dataset__pk")
                found = self.listed.alias(home=home).filter(home__in=found.values("pk"))
            formats = found.values_list(read_format()).annotate(n=Count(home, distinct=True))
            facets = [FacetValue(each, each, n) for each, n in formats if each]
        return sorted(facets, key=lambda facet: (-facet.count, facet.name))[:limit]

    def list_organizations(self) -> list[Counted[Organization]]:
        """List the organizations; of several titles of a name, the first one is shown."""
        # A statement may have changed the publisher alone.
        named_as = Case(When(owner_org=None, then=NullIf("publisher", Value(""))))
        stored = Case(When(named_as=None, then="organization"))
        named = self._described.annotate(named_as=named_as, stored=stored)
        counted = named.values_list("named_as", "stored").annotate(n=Count("pk"))
        return _count_groups(
            (build_organization(name) if name else Organization(**organization), n)
            for name, organization, n in counted
            if name or organization
        )

    def list_groups(self) -> list[Counted[Group]]:
        group = _Unnest("groups", function="jsonb_array_elements", output_field=JSONField())
        groups = self._described.exclude(groups=[]).annotate(group=group).values_list("group")
        counted = groups.annotate(n=Count("pk"))
        return _count_groups((Group(**value), n) for value, n in counted)

    def list_tags(self) -> list[FacetValue]:
        tag = _Unnest("tags", output_field=CharField())
        tags = self._described.annotate(tag=tag).values_list("tag")
        facets = (FacetValue(tag, tag, count) for tag, count in tags.annotate(n=Count("pk")))
        return sorted(facets, key=lambda facet: facet.name.casefold())


def _count_groups(counted: Iterable[tuple[AnyGroup, int]]) -> list[Counted[AnyGroup]]:
    merged: dict[str, Counted[AnyGroup]] = {}
    for group, count in sorted(counted, key=lambda row: row[0].shown_title):
        first, number = merged.get(group.name, (group, 0))
        merged[group.name] = first, number + count
    return [merged[name] for name in sorted(merged)]


def open_public_datasets(using: str) -> Datasets:
    return Datasets(Readable(using, Q(private=False)))


def open_readable_datasets(using: str, reader: Reader) -> Datasets:
    readable = list_resources(using).readable_by(reader)
    found = Readable(using, readable.condition, match_private(reader))
    return Datasets(found, readable.is_complete)


# Counts of facets, kept until a dataset changes ---------------------------------------------------

#: By the state of the datasets, the user, and what was counted.
_facets: BoundedCache[tuple[object, ...], Sequence[Sequence[FacetValue]]] = BoundedCache(
    "catalogue_facets", 64
)


def count_facets(
    datasets: Datasets, reader: Reader, names: tuple[str, ...], limit: int
) -> Sequence[Sequence[FacetValue]]:
    """Count the ``limit`` most frequent values of facets, anew when the datasets have changed."""
    key = datasets.read_state(), reader.pk, names, limit
    if (counted := _facets.get(key)) is None:
        counted = [datasets.count_facet(name, limit) for name in names]
        _facets.add(key, counted)
    return counted


# Resources ----------------------------------------------------------------------------------------


def count_fields(resource: str) -> Any:
    """Count the fields of the resource whose id is in a column."""
    # A join would count the fields of all resources, not of those on the page alone.
    fields = Field.objects.filter(resource=OuterRef(resource)).order_by().values("resource")
    return Coalesce(Subquery(fields.annotate(number=Count("pk")).values("number")), 0)


def match_table(word: str) -> Q:
    """Match the resources that hold a word, or whose dataset of the portal's own does."""
    held = Dataset.objects.filter(match_word(word, of_datasets=True), resource=None)
    return match_word(word) | Q(dataset__part_of__in=held)


def read_state(rows: QuerySet[Any], version: Combinable | str = "version") -> CatalogueState:
    """Read the state of resources, or of other rows with a version, in one statement."""
    figures = rows.aggregate(count=Count("pk"), last=Max(version), sum=Sum(version))
    return figures["count"], int(figures["last"] or 0), int(figures["sum"] or 0)


def read_resources(found: ResourceQuerySet, bounds: slice) -> tuple[list[Resource], int]:
    ids, count = find_page(found, bounds)
    by_id = select_listed(Resource.objects.using(found.db)).in_bulk(ids) if ids else {}
    return [by_id[pk] for pk in ids if pk in by_id], count


def find_page(found: QuerySet[AnyRow], bounds: slice) -> tuple[list[Any], int]:
    """Find a page's ids and count all rows in one statement, which may read every text."""
    numbered = found.annotate(total=Window(Count("pk"))).values_list("pk", "total")
    numbers = list(numbered[bounds]) if bounds.stop > bounds.start else []
    if numbers:
        return [pk for pk, _total in numbers], numbers[0][1]
    return [], found.count() if bounds.start or bounds.stop == bounds.start else 0


def select_columns(resources: ResourceQuerySet) -> ResourceQuerySet:
    """Select the table version and the metadata, without columns that no description needs."""
    return resources.select_related("table_version", "dataset").defer(*_list_heavy(""))


def select_listed(resources: ResourceQuerySet) -> ResourceQuerySet:
    """Select what describes resources, and not their datasets."""
    return select_columns(resources).defer(*(f"dataset__{name}" for name in _OF_PORTAL))


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


MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10


def validate_catalogue_word_count(text: str) -> None:
    if len(text.split()) > MAX_CATALOGUE_WORDS:
        raise ValidationError(str(TooManyWords(most=MAX_CATALOGUE_WORDS)))


class CatalogueFilterSet(FilterSet):
    q = CharFilter(
        label=gettext_lazy("Search titles and records"),
        method="filter_by_words",
        max_length=MAX_CATALOGUE_Q_LENGTH,
        validators=[validate_catalogue_word_count],
        widget=forms.TextInput({"id": "q", "type": "search"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def __init__(
        self,
        data: Any,
        rows: QuerySet[Any],
        match: Callable[[str], Q],
        find: Callable[[str], Q] = lambda _text: NOTHING,
    ) -> None:
        """
        Filter datasets or resources.

        ``match`` decides which have a word, and ``find`` which others match the whole text.
        """
        super().__init__(data, rows)
        self._match, self._find = match, find

    def filter_by_words(self, rows: QuerySet[Any], name: str, text: str) -> QuerySet[Any]:
        words = map(self._match, text.split())
        return rows.filter(reduce(and_, words, EVERYTHING) | self._find(text))


def list_tables(using: str) -> ResourceQuerySet:
    return (
        list_loaded_resources(using)
        .exclude(dataset__part_of__state=State.DELETED)
        .select_related("table_version")
        .annotate(field_count=count_fields("pk"))
        .order_by(Lower(Coalesce(NullIf("title", Value("")), "name")), "pk")
    )

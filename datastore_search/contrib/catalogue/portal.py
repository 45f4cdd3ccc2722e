"""
Datasets that a function of the portal gives (setting ``DATASETS``).

They are read with each request and searched in memory; conditions on their resources are searched
in the database.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from hashlib import blake2b
from operator import and_
from typing import Self, cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils.module_loading import import_string

from ...models import Reader, ResourceQuerySet
from .conf import conf
from .dataset import Dataset, Group, ListedDataset, Organization, Place
from .dataset_conditions import (
    SORT_KEYS,
    Entry,
    Head,
    build_dataset_conditions,
    list_values,
    match_text,
)
from .datasets import (
    AnyGroup,
    CatalogueState,
    Counted,
    Facet,
    ResourceDatasets,
    list_loaded_resources,
    read_state,
    select_columns,
    sort_by_count,
    sort_by_name,
)
from .query import Predicate, SortTerm, parse_catalogue_query
from .resource_conditions import match_word

#: Takes the user, gives the datasets.
DatasetsFunction = Callable[[Reader], Iterable[Dataset]]


def open_public_datasets(using: str) -> Datasets:
    """Open the datasets that everyone may see."""
    return _open_datasets(AnonymousUser(), list_loaded_resources(using).filter(private=False))


def open_readable_datasets(using: str, reader: Reader) -> Datasets:
    """Open the datasets that a user may see."""
    return _open_datasets(reader, list_readable_resources(using, reader))


def _open_datasets(reader: Reader, shown: ResourceQuerySet) -> Datasets:
    return _open_portal_datasets(reader, shown) if conf.DATASETS else ResourceDatasets(shown)


def open_portal_datasets(using: str, reader: Reader) -> PortalDatasets:
    """Open the portal's own datasets that a user may see."""
    return _open_portal_datasets(reader, list_readable_resources(using, reader))


def list_readable_resources(using: str, reader: Reader) -> ResourceQuerySet:
    """List the loaded resources that a user may read."""
    loaded = list_loaded_resources(using)
    return loaded.filter(loaded.readable_by(reader).condition)


def _open_portal_datasets(reader: Reader, readable: ResourceQuerySet) -> PortalDatasets:
    rows = readable.values_list("pk", "private", "created_at", "modified_at")
    heads = {row[0]: Head(*row) for row in rows}
    entries = []
    for dataset in _list_datasets(reader):
        seen = [heads[pk] for pk in dict.fromkeys(dataset.resources) if pk in heads]
        if seen or dataset.is_public:
            entries.append(Entry(dataset, seen))
    return PortalDatasets(readable, entries)


def find_place(using: str, reader: Reader, resource_id: uuid.UUID) -> Place | None:
    """Find the place of a resource that a user may read; None if no dataset has it."""
    if not conf.DATASETS:
        return Place(str(resource_id), 0)
    dataset = find_dataset_of(reader, resource_id)
    if dataset is None:
        return None
    readable = list_readable_resources(using, reader).filter(pk__in=dataset.resources)
    seen = readable.values_list("pk", flat=True)
    before = dataset.resources[: dataset.resources.index(resource_id)]
    return Place(dataset.id, len({*before} & {*seen}))


def find_dataset_of(reader: Reader, resource_id: uuid.UUID) -> Dataset | None:
    """Find the portal's own dataset with a resource; its other resources may be private."""
    return next((each for each in _list_datasets(reader) if resource_id in each.resources), None)


def has_portal_dataset(reader: Reader, name: str) -> bool:
    """Return whether a dataset of the portal's own, visible or not, has an id or a name."""
    return any(name in {each.id, each.name} for each in _list_datasets(reader))


def _list_datasets(reader: Reader) -> Iterable[Dataset]:
    """List the datasets of the function that the setting names."""
    return cast(DatasetsFunction, import_string(conf.DATASETS))(reader) if conf.DATASETS else ()


@dataclass(frozen=True)
class PortalDatasets:
    """Datasets of the portal's own, as a user sees them, with methods as ``ResourceDatasets``."""

    _readable: ResourceQuerySet
    _entries: Sequence[Entry]

    @property
    def resources(self) -> ResourceQuerySet:
        """Return the resources of the datasets that the user may read."""
        return self._readable.filter(pk__in=self.list_resource_ids())

    def list_resource_ids(self) -> list[uuid.UUID]:
        """List the ids of the resources of the datasets that the user may read."""
        return [*self._places]

    def match_table(self, word: str) -> Q:
        """Match the resources that hold a word, or whose dataset does."""
        texts = match_text(word)
        held = [entry for entry in self._entries if texts.is_met_by(entry)]
        return match_word(word) | Q(pk__in=[head.pk for entry in held for head in entry.seen])

    @cached_property
    def _places(self) -> Mapping[uuid.UUID, Place]:
        places: dict[uuid.UUID, Place] = {}
        for entry in self._entries:
            for position, head in enumerate(entry.seen):
                places.setdefault(head.pk, Place(entry.dataset.id, position))
        return places

    def matching(self, text: str, parameter: str) -> Self:
        """Keep the datasets that meet a query."""
        conditions = build_dataset_conditions(self._search)
        return self._keep(parse_catalogue_query(text, parameter, conditions))

    def holding(self, words: Sequence[str]) -> Self:
        """Keep the datasets that hold every word."""
        conditions = build_dataset_conditions(self._search)
        return self._keep(reduce(and_, map(conditions.fields[""], words), conditions.everything))

    def owned_by(self, counted: Counted[Organization]) -> Self:
        """Keep the datasets of an organization."""
        name = counted.group.name
        return self._keep(
            Predicate(lambda entry: (owner := entry.dataset.organization) and owner.name == name)
        )

    def find(self, name: str) -> ListedDataset | None:
        """Find a dataset by its id or its name."""
        for entry in self._entries:
            if name in {entry.dataset.id, entry.dataset.name}:
                return self._read([entry])[0]
        return None

    def read_state(self) -> CatalogueState:
        """Read the state of the resources, and digest the datasets."""
        text = repr([(entry.dataset, entry.seen) for entry in self._entries])
        digest = blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
        return replace(read_state(self.resources), digest=digest)

    def list_names(self, bounds: slice) -> list[str]:
        """List their names in order."""
        return sorted(entry.dataset.name for entry in self._entries)[bounds]

    def list_page(self, order: Sequence[SortTerm], bounds: slice) -> list[ListedDataset]:
        """Read a page."""
        entries = [*self._entries]
        for term in reversed(order):
            entries.sort(key=SORT_KEYS[term.name], reverse=term.is_descending)
        return self._read(entries[bounds])

    def read_page(
        self, order: Sequence[SortTerm], bounds: slice
    ) -> tuple[list[ListedDataset], int]:
        """Read a page, and count all datasets."""
        return self.list_page(order, bounds), len(self._entries)

    def count_facet(self, name: str, limit: int) -> list[Facet]:
        """Count the values that datasets have in common."""
        return sort_by_count(self._count_values(name))[:limit]

    def list_organizations(self) -> list[Counted[Organization]]:
        """List the organizations; the first dataset of each one describes it."""
        owners = (each.dataset.organization for each in self._entries)
        return _count_groups([owner for owner in owners if owner])

    def list_groups(self) -> list[Counted[Group]]:
        """List the groups; the first dataset of each one describes it."""
        return _count_groups([group for each in self._entries for group in each.dataset.groups])

    def list_tags(self) -> list[Facet]:
        """List the tags in order."""
        return sort_by_name(self._count_values("tags"))

    def locate(self, resource_id: uuid.UUID) -> Place | None:
        """Find the place of a resource in the first dataset that has it."""
        return self._places.get(resource_id)

    def _count_values(self, name: str) -> list[Facet]:
        values = (dict.fromkeys(list_values(entry, name)) for entry in self._entries)
        counted = Counter(value for each in values for value in each)
        return [Facet(*value, count) for value, count in counted.items()]

    def _keep(self, condition: Predicate) -> Self:
        kept = [entry for entry in self._entries if condition.is_met_by(entry)]
        return type(self)(self._readable, kept)

    def _read(self, entries: Sequence[Entry]) -> list[ListedDataset]:
        """Read the resources of datasets."""
        ids = {head.pk for entry in entries for head in entry.seen}
        by_id = select_columns(self._readable).in_bulk(ids) if ids else {}
        return [
            ListedDataset(
                replace(
                    entry.dataset,
                    metadata_created=entry.metadata_created,
                    metadata_modified=entry.metadata_modified,
                ),
                [by_id[head.pk] for head in entry.seen if head.pk in by_id],
                entry.is_private,
            )
            for entry in entries
        ]

    def _search(self, condition: Q) -> frozenset[uuid.UUID]:
        """Search the resources that the user may read."""
        return frozenset(self._readable.filter(condition).values_list("pk", flat=True))


def _count_groups(groups: Sequence[AnyGroup]) -> list[Counted[AnyGroup]]:
    known = {each.name: each for each in reversed(groups)}
    counted = Counter(each.name for each in groups)
    return [Counted(known[name], counted[name]) for name in sorted(counted)]


Datasets = ResourceDatasets | PortalDatasets

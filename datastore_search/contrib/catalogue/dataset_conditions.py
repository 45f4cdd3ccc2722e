"""Conditions and orders of the catalogue in memory, on datasets of a portal's own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from django.db.models import Q

from .dataset import Dataset, Group
from .descriptions import FORMAT
from .query import Conditions, Predicate
from .resource_conditions import match_text as match_resource_text
from .resource_conditions import match_word

_EVERYTHING: Final = Predicate(lambda _entry: True)

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


class Head(NamedTuple):
    """The figures of a resource that a user may read."""

    pk: uuid.UUID
    is_private: bool
    created_at: datetime
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A dataset, and the heads of the resources that the user may read, in order."""

    dataset: Dataset
    seen: Sequence[Head]

    @property
    def is_private(self) -> bool:
        """Return whether only some users see it."""
        return not self.dataset.is_public and all(head.is_private for head in self.seen)

    @property
    def metadata_created(self) -> datetime | None:
        """Return the time of the dataset, or of the first visible resource."""
        given = self.dataset.metadata_created
        return given or min((head.created_at for head in self.seen), default=None)

    @property
    def metadata_modified(self) -> datetime | None:
        """Return the time of the dataset, or of the last change of a visible resource."""
        given = self.dataset.metadata_modified
        return given or max((head.modified_at for head in self.seen), default=None)


def build_dataset_conditions(
    search: Callable[[Q], frozenset[uuid.UUID]],
) -> Conditions[Predicate]:
    """Build conditions on entries; ``search`` finds the ids of resources that meet one in SQL."""

    def match_resources(match: Callable[[str], Q], text: str) -> Predicate:
        found = search(match(text.strip("*")))
        return Predicate(lambda entry: any(head.pk in found for head in entry.seen))

    def match_part(values: Values, text: str) -> Predicate:
        return _match_part(values, text.strip("*"))

    def match_anywhere(text: str) -> Predicate:
        if not text.strip("*"):
            return _EVERYTHING
        return match_part(_list_texts, text) | match_resources(match_word, text)

    fields: dict[str, Callable[[str], Predicate]] = {
        "": match_anywhere,
        "text": match_anywhere,
        **{name: partial(match_resources, match) for name, match in _OF_RESOURCES.items()},
        **{name: partial(match_part, values) for name, values in _PARTS.items()},
        **{name: partial(_match_value, values) for name, values in _VALUES.items()},
    }
    return Conditions(
        _EVERYTHING,
        fields,
        lambda is_private: Predicate(lambda entry: entry.is_private is is_private),
        _match_times,
    )


def _match_times(field: str, low: datetime | None, high: datetime | None) -> Predicate:
    """Match a time within bounds; what has no time matches none."""

    def is_within(entry: Entry) -> bool:
        moment = getattr(entry, field)
        return (
            moment is not None
            and (low is None or moment >= low)
            and (high is None or moment <= high)
        )

    return Predicate(is_within)


# Values -------------------------------------------------------------------------------------------

Values = Callable[[Entry], Iterable[str]]


def list_values(entry: Entry, name: str) -> Iterator[tuple[str, str]]:
    """List the values of an entry for a facet, each with its title."""
    dataset = entry.dataset
    if name == "tags":
        yield from ((tag, tag) for tag in dataset.tags)
    elif name == "organization" and dataset.organization:
        yield dataset.organization.name, dataset.organization.shown_title
    elif name == "groups":
        yield from ((group.name, group.shown_title) for group in dataset.groups)
    elif name == "license_id" and dataset.license:
        yield dataset.license, dataset.license
    elif name == "res_format" and entry.seen:
        yield FORMAT, FORMAT


def _list_texts(entry: Entry) -> Iterator[str]:
    """List the texts that words are searched in."""
    dataset = entry.dataset
    yield from (dataset.id, dataset.name, dataset.title, dataset.notes, *dataset.tags)
    for texts in dataset.translations.values():
        yield from texts.values()
    if dataset.organization:
        yield dataset.organization.shown_title


def _list_names(groups: Iterable[Group | None]) -> list[str]:
    return [name for group in groups if group for name in (group.name, group.shown_id)]


def _get(name: str) -> Values:
    return lambda entry: [getattr(entry.dataset, name)]


def _list_times(name: str) -> Values:
    return lambda entry: ["*"] if getattr(entry, name) else []


#: Fields that are compared as a whole, or from their beginning with ``*``.
_VALUES: Final[Mapping[str, Values]] = {
    "id": _get("id"),
    "name": _get("name"),
    "tags": lambda entry: entry.dataset.tags,
    "organization": lambda entry: _list_names([entry.dataset.organization]),
    "owner_org": lambda entry: _list_names([entry.dataset.organization]),
    "groups": lambda entry: _list_names(entry.dataset.groups),
    "license_id": _get("license"),
    "maintainer": _get("maintainer"),
    "author": _get("author"),
    "url": _get("url"),
    "res_format": lambda entry: [FORMAT] if entry.seen else [],
    "metadata_modified": _list_times("metadata_modified"),
    "metadata_created": _list_times("metadata_created"),
}

#: Fields that match a part of their text.
_PARTS: Final[Mapping[str, Values]] = {
    "title": lambda entry: [entry.dataset.title, entry.dataset.local_title.text],
    "notes": lambda entry: [entry.dataset.notes, entry.dataset.local_notes.text],
}

#: Fields of the resources of a dataset.
_OF_RESOURCES: Final[Mapping[str, Callable[[str], Q]]] = {
    "res_name": partial(match_resource_text, "title"),
    "res_description": partial(match_resource_text, "description"),
}

#: How entries are sorted by each name.
SORT_KEYS: Final[Mapping[str, Callable[[Entry], Any]]] = {
    "metadata_modified": lambda entry: entry.metadata_modified or _EARLIEST,
    "metadata_created": lambda entry: entry.metadata_created or _EARLIEST,
    "name": lambda entry: entry.dataset.name,
    "id": lambda entry: entry.dataset.id,
    "title": lambda entry: (entry.dataset.title or entry.dataset.name).casefold(),
}


def match_text(word: str) -> Predicate:
    """Match the datasets that hold a word in a text of their own."""
    return _match_part(_list_texts, word)


def _match_part(values: Values, text: str) -> Predicate:
    part = text.casefold()
    return Predicate(lambda entry: any(part in value.casefold() for value in values(entry)))


def _match_value(values: Values, text: str) -> Predicate:
    """Match a value, its beginning where the text ends in ``*``, or any value (``*``)."""
    wanted = text.casefold()
    if wanted.endswith("*"):
        start = wanted[:-1]
        return Predicate(
            lambda entry: any(
                value and value.casefold().startswith(start) for value in values(entry)
            )
        )
    return Predicate(lambda entry: any(value.casefold() == wanted for value in values(entry)))

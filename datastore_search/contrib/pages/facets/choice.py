"""The fields that get a facet on a data page: few values first, then ranges, then texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..table.columns import Column
from ..table.page_query import PageQuery

#: Facets that a page shows, and how many of each kind it chooses itself.
MAX_FACETS = 8

#: Values of a facet.
MAX_VALUES = 20

#: Letters of a value that has a checkbox.
MAX_VALUE_LENGTH = 100


class FacetKind(IntEnum):
    """What a facet has: a checkbox for each value, two ends of a range, or inputs of a text."""

    VALUES = 1
    RANGE = 2
    TEXT = 3


_MAX_CHOSEN: Mapping[FacetKind, int] = {
    FacetKind.VALUES: 5,
    FacetKind.RANGE: 2,
    FacetKind.TEXT: 1,
}


@dataclass(frozen=True, slots=True)
class FacetField:
    """A field with the kind of its facet; it is ``wanted`` if the address names it."""

    column: Column
    kind: FacetKind
    is_wanted: bool = False


def choose_facets(
    columns: Sequence[Column], query: PageQuery, profiles: Mapping[str, Mapping[str, Any]]
) -> tuple[list[FacetField], list[Column]]:
    """
    Choose the fields with a facet, in the order of the page, and list those that could have one.

    What the address names is first, then what it asks for, then what the profiles propose.
    """
    asked = {condition.field.name for condition in query.conditions}
    fields = [
        FacetField(column, kind, is_wanted=column.name in query.facets)
        for column in columns
        if (kind := find_kind(column, profiles.get(column.name)))
    ]
    chosen = [each for each in fields if each.is_wanted or each.column.name in asked]
    chosen = sorted(chosen, key=lambda each: not each.is_wanted)[:MAX_FACETS]
    names = {each.column.name for each in chosen}
    free = [each for each in fields if each.column.name not in names]
    chosen += _propose(free, profiles, chosen)
    # A facet stays in its place when something is chosen in it.
    chosen.sort(key=lambda each: (not each.is_wanted, _rank(each, profiles), fields.index(each)))
    names = {each.column.name for each in chosen}
    return chosen, [each.column for each in fields if each.column.name not in names]


def find_kind(column: Column, profile: Mapping[str, Any] | None) -> FacetKind | None:
    """Find the kind of a field's facet; None for lists and nested data."""
    if column.type == "bool":
        return FacetKind.VALUES
    if column.field_type.is_integer and profile and _has_few_values(profile):
        return FacetKind.VALUES
    if column.field_type.has_range:
        return FacetKind.RANGE
    if column.type != "text":
        return None
    # Of a table without profiles, the number of values is known once they are counted.
    return FacetKind.VALUES if profile is None or _has_few_values(profile) else FacetKind.TEXT


def _has_few_values(profile: Mapping[str, Any]) -> bool:
    """Return whether values are few, short, and on average at least twice there."""
    distinct: int = profile["distinct"]
    longest: int = profile.get("longest", 0)
    is_repeated: bool = 2 * distinct <= profile["count"]
    return is_repeated and distinct <= MAX_VALUES and longest <= MAX_VALUE_LENGTH


def _propose(
    fields: Iterable[FacetField],
    profiles: Mapping[str, Mapping[str, Any]],
    chosen: Sequence[FacetField],
) -> list[FacetField]:
    """Propose fields in addition to those that are chosen: those with few values first."""
    numbers = {kind: sum(each.kind == kind for each in chosen) for kind in FacetKind}
    room = MAX_FACETS - len(chosen)
    proposed: list[FacetField] = []
    for field in sorted(fields, key=lambda each: _rank(each, profiles)):
        profile = profiles.get(field.column.name)
        if (
            len(proposed) < room
            and numbers[field.kind] < _MAX_CHOSEN[field.kind]
            and not (profile and profile["distinct"] + bool(profile["nulls"]) <= 1)
        ):
            numbers[field.kind] += 1
            proposed.append(field)
    return proposed


def _rank(field: FacetField, profiles: Mapping[str, Mapping[str, Any]]) -> tuple[int, bool, int]:
    """Rank by kind, times of day behind days and numbers, and values by how many there are."""
    profile = profiles.get(field.column.name)
    distinct = profile["distinct"] if profile and field.kind is FacetKind.VALUES else 0
    has_time = field.column.field_type.is_timestamp or field.column.type == "time"
    return field.kind, has_time, distinct

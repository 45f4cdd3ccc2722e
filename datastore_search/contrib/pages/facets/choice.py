"""The fields that get a facet on a data page: categories first, then dates and amounts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..table.columns import Column
from ..table.page_query import PageQuery

#: Facets that a page shows, unless its address names more, which has at most this many values.
MAX_FACETS = 8

#: Values of a whole number that has checkboxes, and of a text.
MAX_NUMBERS = 20
MAX_CATEGORIES = 1_000

#: Letters of a value that has a checkbox.
MAX_VALUE_LENGTH = 100

#: Values of a category that is offered before others, counting none as one.
_USEFUL_VALUES = range(3, 51)

#: Names of whole numbers that identify records.
_KEY_NAME = re.compile(r"(^|_| )(id|key|no|nr|number|uuid)$|^_?id_", re.IGNORECASE)

#: The share of all records in one bar, from which a histogram shows nothing else.
_SKEWED_SHARE = 0.75

Profiles = Mapping[str, Mapping[str, Any]]


class FacetKind(IntEnum):
    """What a facet has: a checkbox for each value, two ends of a range, or inputs of a text."""

    VALUES = 1
    RANGE = 2
    TEXT = 3


#: Facets that a page chooses itself: categories, a date and an amount, then others of these.
_MAX_CHOSEN: Sequence[Mapping[str, int]] = (
    {"categories": 6, "moment": 1, "number": 1},
    {"moment": 2, "number": 2},
)


@dataclass(frozen=True, slots=True)
class FacetField:
    """
    A field with the kind of its facet; it is ``wanted`` if the address names it.

    Nothing is known of the values of one that is ``is_guessed``.  Ranges of equal width would put
    nearly all records into one where it ``is_skewed``.
    """

    column: Column
    kind: FacetKind
    is_wanted: bool = False
    is_guessed: bool = False
    is_skewed: bool = False


def choose_facets(
    columns: Sequence[Column], query: PageQuery, profiles: Profiles, key: Collection[str]
) -> tuple[list[FacetField], list[Column]]:
    """
    Choose the fields with a facet, in the order of the page, and list those that could have one.

    What the address names is first, then what it asks for, then what the profiles propose.  Fields
    of the ``key`` are not proposed.
    """
    asked = {condition.field.name for condition in query.conditions}
    fields = [
        _describe(column, kind, profiles, is_wanted=column.name in query.facets)
        for column in columns
        if (kind := find_kind(column, profiles.get(column.name)) or _find_wanted(column, query))
    ]
    chosen = [each for each in fields if each.is_wanted or each.column.name in asked]
    chosen = sorted(chosen, key=lambda each: not each.is_wanted)
    chosen = chosen[: max(MAX_FACETS, len(query.facets))]
    names = {each.column.name for each in chosen}
    free = [each for each in fields if each.column.name not in {*names, *key}]
    chosen += _propose(free, profiles, chosen)
    # A facet stays in its place when something is chosen in it.
    chosen.sort(
        key=lambda each: (not each.is_wanted, rank_field(each, profiles), fields.index(each))
    )
    names = {each.column.name for each in chosen}
    return chosen, [each.column for each in fields if each.column.name not in names]


def _find_wanted(column: Column, query: PageQuery) -> FacetKind | None:
    return FacetKind.TEXT if column.name in query.facets else None


def _describe(
    column: Column, kind: FacetKind, profiles: Profiles, *, is_wanted: bool
) -> FacetField:
    profile = profiles.get(column.name)
    if is_wanted and column.type == "text":
        kind = FacetKind.VALUES
    return FacetField(column, kind, is_wanted, profile is None, is_skewed(column, profile))


def find_kind(column: Column, profile: Mapping[str, Any] | None) -> FacetKind | None:
    """Find the kind of a field's facet; None for lists and nested data."""
    if column.type == "bool":
        return FacetKind.VALUES
    if column.field_type.is_integer and profile and _has_few_values(profile, MAX_NUMBERS):
        return FacetKind.VALUES
    if column.field_type.has_range:
        return FacetKind.RANGE
    if column.type != "text":
        return None
    # Of a table without profiles, the number of values is known once they are counted.
    is_category = profile is None or _has_few_values(profile, MAX_CATEGORIES)
    return FacetKind.VALUES if is_category else FacetKind.TEXT


def _has_few_values(profile: Mapping[str, Any], most: int) -> bool:
    """Return whether values are few, short, and on average at least twice there."""
    distinct: int = profile["distinct"]
    longest: int = profile.get("longest", 0)
    is_repeated: bool = 2 * distinct <= profile["count"]
    return is_repeated and distinct <= most and longest <= MAX_VALUE_LENGTH


def is_skewed(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether one bar of a histogram of numbers from 0 on holds nearly all records."""
    histogram = profile and profile.get("histogram")
    if not (histogram and column.field_type.is_number and histogram["bounds"][0] >= 0):
        return False
    counts = histogram["counts"]
    return len(counts) > 1 and max(counts) > _SKEWED_SHARE * sum(counts)


def is_useful(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether a field divides records: it has several values, and is not their key."""
    if profile is None:
        return True
    count, distinct = profile["count"], profile["distinct"]
    is_key = False
    if column.field_type.is_integer and distinct == count and "min" in profile:
        is_sequence = int(profile["max"]) - int(profile["min"]) + 1 == count
        is_key = is_sequence or bool(_KEY_NAME.search(column.name))
    return bool(count) and distinct + bool(profile["nulls"]) > 1 and not is_key


def _propose(
    fields: Sequence[FacetField], profiles: Profiles, chosen: Sequence[FacetField]
) -> list[FacetField]:
    """Propose fields in addition to those that are chosen."""
    numbers = Counter(map(_find_group, chosen))
    proposed: list[FacetField] = []
    for most in _MAX_CHOSEN:
        for field in sorted(fields, key=lambda each: rank_field(each, profiles)):
            group = _find_group(field)
            is_free = field not in proposed and numbers[group] < most.get(group, 0)
            if is_free and is_useful(field.column, profiles.get(field.column.name)):
                numbers[group] += 1
                proposed.append(field)
    return proposed[: max(0, MAX_FACETS - len(chosen))]


def _find_group(field: FacetField) -> str:
    return "categories" if field.kind is FacetKind.VALUES else field.column.kind


def rank_field(field: FacetField, profiles: Profiles) -> tuple[int, bool, bool, int]:
    """Rank by kind, fields that most records lack behind others, times of day behind days."""
    profile, kind = profiles.get(field.column.name), field.column.field_type
    is_sparse = profile is not None and profile["nulls"] > profile["count"]
    if field.kind is not FacetKind.VALUES or not profile:
        return field.kind, is_sparse, kind.is_timestamp or kind.name == "time", 0
    values = profile["distinct"] + bool(profile["nulls"])
    return field.kind, is_sparse, values not in _USEFUL_VALUES or kind.is_number, values

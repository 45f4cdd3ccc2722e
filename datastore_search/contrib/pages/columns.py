"""The columns of a data page: which are shown, in which order, and which have a facet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ...field_types import FieldType, Ordered, field_types, label_type
from ...messages.bidi import show_bidi_controls
from ...messages.parameters import UnknownField
from ...models import Profiles, Resource
from .languages import Phrase, mark_text, write_language
from .question import PAGE_SIZES, PageQuery

#: Columns that a page shows at once: fewer where it has more records than it has by default, so
#: that its HTML stays small.
MAX_COLUMNS = 18
MAX_COLUMNS_OF_LONG_PAGE = 13

#: Letters of a label in front of each value, on a narrow screen.
_MAX_CELL_LABEL_LENGTH = 30

#: Values of a text that are shown as tags, and letters of a value that can be chosen.
_MAX_TAGS, MAX_VALUE_LENGTH = 10, 100

_KINDS: Mapping[Ordered | None, str] = {Ordered.NUMBERS: "number", Ordered.DATES: "moment"}


@dataclass(frozen=True, slots=True)
class Column:
    """
    A field as a column; ``kind`` is number, moment or text, ``unit`` what its numbers count.

    The languages of the label, the notes and the values are empty where they are unknown or
    where values are not words.
    """

    name: str
    label: str
    notes: str
    type: str
    kind: str
    label_language: str = ""
    notes_language: str = ""
    value_language: str = ""
    unit: str = ""
    is_category: bool = field(default=False, compare=False)

    @property
    def field_type(self) -> FieldType:
        """What the type can do."""
        return field_types[self.type]

    @property
    def type_label(self) -> str:
        return label_type(self.type)

    @property
    def marked_label(self) -> Phrase:
        return mark_text(self.label, self.label_language)

    @property
    def shown_name(self) -> str:
        """The name with its invisible characters shown."""
        return show_bidi_controls(self.name)

    @property
    def cell_attributes(self) -> SafeString:
        """
        The attributes of its cells: the beginning of the label, by the letter of the kind.

        Values in another language than the page have ``lang``.
        """
        letter = {"number": "n", "moment": "m"}.get(self.kind, "l")
        label = self.label[:_MAX_CELL_LABEL_LENGTH].strip()
        return format_html(' data-{}="{}"', letter, label) + write_language(self.value_language)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """
    The columns of a page, among those that were chosen.

    ``first`` and ``last`` count the ``chosen`` names from 1; ``previous`` and ``following`` are the
    first columns of other pages, 0 where there are none.
    """

    columns: tuple[Column, ...]
    chosen: frozenset[str]
    first: int
    last: int
    previous: int
    following: int


def build_columns(resource: Resource) -> tuple[Column, ...]:
    """Build a column for each field of a described resource."""
    plain_language, columns = resource.content_language, []
    for each in resource.schema:
        label, notes = each.choose_label(plain_language), each.choose_notes(plain_language)
        unit = each.extra_info.get("unit")
        column = Column(
            each.name,
            show_bidi_controls(label.text or each.name),
            show_bidi_controls(notes.text),
            each.type,
            _KINDS.get(field_types[each.type].ordered, "text"),
            label.language,
            notes.language,
            plain_language if field_types[each.type].has_words else "",
            show_bidi_controls(unit) if isinstance(unit, str) else "",
        )
        columns.append(column)
    return tuple(columns)


def find_column(name: str, columns: Iterable[Column]) -> Column | None:
    """
    Find the column that an address names; None for no name.

    Raises: ``UnknownField``.
    """
    found = next((column for column in columns if column.name == name), None)
    if name and not found:
        raise UnknownField(field=name[:100])
    return found if name else None


def choose_columns(
    columns: Sequence[Column], query: PageQuery, profiles: Profiles | None = None
) -> ColumnChoice:
    """Choose and order the columns that a page shows; texts of few values are categories."""
    fields = profiles.fields if profiles else {}
    texts = [each.name for each in columns if each.field_type.is_text and each.name in fields]
    few = {name for name in texts if has_few_values(fields[name], _MAX_TAGS)}
    by_name = {column.name: column for column in columns}
    chosen = choose_names(by_name, query)
    most = MAX_COLUMNS if query.size <= PAGE_SIZES[0] else MAX_COLUMNS_OF_LONG_PAGE
    start = (query.first_column - 1) // most * most
    if start >= len(chosen):
        start = 0
    end = min(start + most, len(chosen))
    return ColumnChoice(
        tuple(replace(by_name[name], is_category=name in few) for name in chosen[start:end]),
        frozenset(chosen),
        min(start + 1, len(chosen)),
        end,
        start - most + 1 if start else 0,
        end + 1 if end < len(chosen) else 0,
    )


def has_few_values(profile: Mapping[str, Any], most: int) -> bool:
    """Return whether values are few, short, and on average at least twice there."""
    distinct: int = profile["distinct"]
    longest: int = profile.get("longest", 0)
    is_repeated: bool = 2 * distinct <= profile["count"]
    return is_repeated and distinct <= most and longest <= MAX_VALUE_LENGTH


def choose_names(names: Iterable[str], query: PageQuery) -> list[str]:
    """Choose and order the names of the columns of all pages."""
    chosen = dict.fromkeys([*query.first, *(query.fields or names)])
    return [name for name in chosen if name not in query.hidden]


# Which fields get a facet -------------------------------------------------------------------------

#: Facets that a page shows, unless its address names more, which has at most this many values.
MAX_FACETS = 8

#: Values of a whole number that has checkboxes, and of a text.
MAX_NUMBERS = 20
MAX_CATEGORIES = 1_000

#: Values of a category that is offered before others, counting none as one.
_USEFUL_VALUES = range(3, 51)

#: Names of whole numbers that identify records.
_KEY_NAME = re.compile(r"(^|_| )(id|key|no|nr|number|uuid)$|^_?id_", re.IGNORECASE)

#: The share of all records in one bar, from which a histogram shows nothing else.
_SKEWED_SHARE = 0.75

FieldProfiles = Mapping[str, Mapping[str, Any]]


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

    Its values ``can_be_searched`` if it is a text, and named first.  Nothing is known of them if it
    ``is_guessed``.  Ranges of equal width would put nearly all records into one if it
    ``is_skewed``.
    """

    column: Column
    kind: FacetKind
    is_wanted: bool = False
    can_be_searched: bool = False
    is_guessed: bool = False
    is_skewed: bool = False


def choose_facets(
    columns: Sequence[Column], query: PageQuery, profiles: FieldProfiles, key: Collection[str]
) -> tuple[list[FacetField], list[Column]]:
    """
    Choose the fields with a facet, in the order of the page, and list those that could have one.

    What the address names is first, then what it asks for, then what the profiles propose.  Fields
    of the ``key`` are not proposed.
    """
    asked = {condition.field.name for condition in query.conditions}
    fields = list_facet_fields(columns, profiles, query.facets)
    chosen = [each for each in fields if each.is_wanted]
    chosen += [each for each in fields if each.column.name in asked and not each.is_wanted]
    chosen = chosen[: max(MAX_FACETS, len(query.facets))]
    names = {each.column.name for each in chosen}
    free = [each for each in fields if each.column.name not in {*names, *key}]
    chosen += _propose(list_useful(free, profiles), chosen)
    # A facet stays in its place when something is chosen in it.
    chosen.sort(key=lambda each: (not each.is_wanted, _rank(each, profiles), fields.index(each)))
    names = {each.column.name for each in chosen}
    return chosen, [each.column for each in fields if each.column.name not in names]


def list_facet_fields(
    columns: Sequence[Column], profiles: FieldProfiles, wanted: Sequence[str] = ()
) -> list[FacetField]:
    """Describe the facets that fields can have; ``wanted`` names always have one."""
    fields = []
    for column in columns:
        profile, is_text = profiles.get(column.name), column.field_type.is_text
        kind, is_wanted = find_kind(column, profile), column.name in wanted
        if is_wanted:
            kind = FacetKind.VALUES if is_text else kind or FacetKind.TEXT
        if kind:
            is_first = is_text and wanted[:1] == (column.name,)
            states = is_wanted, is_first, profile is None, is_skewed(column, profile)
            fields.append(FacetField(column, kind, *states))
    return fields


def find_kind(column: Column, profile: Mapping[str, Any] | None) -> FacetKind | None:
    """Find the kind of a field's facet; None for lists and nested data."""
    if column.field_type.is_boolean:
        return FacetKind.VALUES
    if column.field_type.is_integer and profile and has_few_values(profile, MAX_NUMBERS):
        return FacetKind.VALUES
    if column.field_type.has_range:
        return FacetKind.RANGE
    if not column.field_type.is_text:
        return None
    # Of a table without profiles, the number of values is known once they are counted.
    is_category = profile is None or has_few_values(profile, MAX_CATEGORIES)
    return FacetKind.VALUES if is_category else FacetKind.TEXT


def is_skewed(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether one bar of a histogram of numbers from 0 on holds nearly all records."""
    histogram = profile and profile.get("histogram")
    if not (histogram and column.field_type.is_number and histogram["bounds"][0] >= 0):
        return False
    counts = histogram["counts"]
    return len(counts) > 1 and max(counts) > _SKEWED_SHARE * sum(counts)


def list_useful(fields: Sequence[FacetField], profiles: FieldProfiles) -> list[FacetField]:
    """List the fields that divide records, the most useful first."""
    useful = [each for each in fields if _is_useful(each.column, profiles.get(each.column.name))]
    return sorted(useful, key=partial(_rank, profiles=profiles))


def _is_useful(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether a field has several values, and is not the key of the records."""
    if profile is None:
        return True
    count, distinct = profile["count"], profile["distinct"]
    if column.field_type.is_integer and distinct == count and "min" in profile:
        is_sequence = int(profile["max"]) - int(profile["min"]) + 1 == count
        return not is_sequence and not _KEY_NAME.search(column.name)
    return bool(count) and distinct + bool(profile["nulls"]) > 1


def _propose(fields: Sequence[FacetField], chosen: Sequence[FacetField]) -> list[FacetField]:
    """Propose fields in addition to those that are chosen."""
    numbers = Counter(map(_find_group, chosen))
    proposed: list[FacetField] = []
    for most in _MAX_CHOSEN:
        for each in fields:
            group = _find_group(each)
            if each not in proposed and numbers[group] < most.get(group, 0):
                numbers[group] += 1
                proposed.append(each)
    return proposed[: max(0, MAX_FACETS - len(chosen))]


def _find_group(field: FacetField) -> str:
    return "categories" if field.kind is FacetKind.VALUES else field.column.kind


def _rank(field: FacetField, profiles: FieldProfiles) -> tuple[int, bool, bool, int]:
    """Rank by kind, fields that most records lack behind others, times of day behind days."""
    profile, kind = profiles.get(field.column.name), field.column.field_type
    is_sparse = profile is not None and profile["nulls"] > profile["count"]
    if field.kind is not FacetKind.VALUES or not profile:
        return field.kind, is_sparse, kind.is_timestamp or (kind.is_moment and not kind.has_day), 0
    values = profile["distinct"] + bool(profile["nulls"])
    return field.kind, is_sparse, values not in _USEFUL_VALUES or kind.is_number, values

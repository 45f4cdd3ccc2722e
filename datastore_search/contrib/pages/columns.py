"""
The columns of a data page: which are shown, in which order, and what their profiles say.

A profile has the statistics of all values of a field.  It proposes facets, and is shown as SVG and
bars, without inline styles.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import IntEnum
from functools import partial
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext as _, ngettext

from ...field_types import FieldType, Ordered, field_types
from ...filters import Comparison, Condition, In
from ...messages.parameters import UnknownField
from ...messages.texts import format_count, show_bidi_controls
from ...models import Resource
from ...search import ConsistentRead, Profiles, find_profiles
from .question import PAGE_SIZES, PageQuery, QueryString, write_filters
from .values import (
    BARE,
    PLAIN,
    NumberStyle,
    Phrase,
    choose_number_style,
    format_number,
    format_percent,
    format_value,
    has_variants,
    mark_text,
    shorten_number,
)

#: Columns that a page shows at once: fewer where it has more records than it has by default, so
#: that its HTML stays small.
MAX_COLUMNS = 18
MAX_COLUMNS_OF_LONG_PAGE = 13

#: Values of a text that are shown as tags, and letters of a value that can be chosen.
_MAX_TAGS, MAX_VALUE_LENGTH = 10, 100

_KINDS: Mapping[Ordered | None, str] = {Ordered.NUMBERS: "number", Ordered.DATES: "moment"}


@dataclass(frozen=True, slots=True)
class Column:
    """
    A field as a column; ``kind`` is number, moment or text, ``unit`` what its numbers count.

    The languages of the label, the notes and the values are empty where they are unknown or
    where values are not words.  ``is_name`` is what the data dictionary says.  A field that
    ``is_key`` names something; the ``style`` is that of its numbers.  ``mark`` is the class of its
    cells: h if it names records, p if it is pinned as the first text, n of numbers.
    """

    name: str
    label: str
    notes: str
    type: FieldType
    kind: str
    label_language: str = ""
    notes_language: str = ""
    value_language: str = ""
    unit: str = ""
    is_name: bool = False
    is_key: bool = False
    style: NumberStyle = PLAIN
    mark: str = field(default="", compare=False)
    is_category: bool = field(default=False, compare=False)

    @property
    def marked_label(self) -> Phrase:
        return mark_text(self.label, self.label_language)

    def write(self, value: object, style: NumberStyle | None = None) -> str:
        """Write a value as people read it."""
        return show_bidi_controls(format_value(self.type, value, style or self.style))

    def choose_style(self, values: Iterable[object]) -> NumberStyle:
        """Choose one style for values that stand below each other."""
        return self.style if self.style.is_bare else choose_number_style(self.type, values)


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
    plain_language, columns = resource.content_language, []
    for each in resource.schema:
        label, notes = each.choose_label(plain_language), each.choose_notes(plain_language)
        unit, kind = each.extra_info.get("unit"), field_types[each.type]
        # What has a unit is an amount, whatever it is called.
        is_key = [each.name] == resource.primary_key or bool(_KEY_NAME.search(each.name))
        is_key = is_key and not unit
        is_bare = kind.is_number and (is_key or bool(_YEAR_NAME.search(each.name)))
        column = Column(
            each.name,
            show_bidi_controls(label.text or each.name),
            show_bidi_controls(notes.text),
            kind,
            _KINDS.get(kind.ordered, "text"),
            label.language,
            notes.language,
            plain_language if kind.has_words else "",
            show_bidi_controls(unit) if isinstance(unit, str) else "",
            each.is_name,
            is_key,
            BARE if is_bare else PLAIN,
        )
        columns.append(column)
    return tuple(columns)


def find_column(name: str, columns: Iterable[Column]) -> Column | None:
    """Find the column that an address names; None for no name.  Raises: ``UnknownField``."""
    found = next((column for column in columns if column.name == name), None)
    if name and not found:
        raise UnknownField(field=name[:100])
    return found if name else None


def choose_columns(
    columns: Sequence[Column], query: PageQuery, profiles: Profiles | None = None
) -> ColumnChoice:
    fields = profiles or {}
    texts = [each.name for each in columns if each.type.is_text and each.name in fields]
    few = {name for name in texts if has_few_values(fields[name], _MAX_TAGS)}
    by_name = {column.name: column for column in columns}
    chosen = choose_names(by_name, query)
    most = MAX_COLUMNS if query.size <= PAGE_SIZES[0] else MAX_COLUMNS_OF_LONG_PAGE
    start = (query.first_column - 1) // most * most
    if start >= len(chosen):
        start = 0
    end = min(start + most, len(chosen))
    shown = [by_name[name] for name in chosen[start:end]]
    marks = {each.name: "n" if each.kind == "number" else "" for each in shown}
    if (name := find_name(columns, fields)) in shown:
        marks[name.name] = "h"
    elif pinned := next((each.name for each in shown if each.type.is_text), None):
        marks[pinned] = "p"
    return ColumnChoice(
        tuple(replace(each, mark=marks[each.name], is_category=each.name in few) for each in shown),
        frozenset(chosen),
        min(start + 1, len(chosen)),
        end,
        start - most + 1 if start else 0,
        end + 1 if end < len(chosen) else 0,
    )


#: Fields of a page that are profiled: those it names, asks for and shows, then the first ones.
MAX_PROFILED_FIELDS = 50


def profile_columns(
    read: ConsistentRead, query: PageQuery, columns: Sequence[Column], named: Iterable[str] = ()
) -> Profiles | None:
    """Profile the fields of a page, which may have ``named`` some; None if that cannot be now."""
    wanted = [*named, *query.facets, *(each.field.name for each in query.conditions)]
    wanted += [each.name for each in (*choose_columns(columns, query).columns, *columns)]
    names = [name for name in dict.fromkeys(wanted) if name in read.relation.types]
    return find_profiles(read, names[:MAX_PROFILED_FIELDS])


# Which field names records ------------------------------------------------------------------------

#: What it may be called, the best first, and characters of the longest name.
_NAMES, MAX_NAME_LENGTH = ("title", "name", "label", "tên", "nom", "nombre"), 200


def find_name(columns: Sequence[Column], profiles: Profiles, least: int = 0) -> Column | None:
    """
    Find the field that names records: the one that the data dictionary chooses, or else a text.

    Its values are different in all records as far as they are counted, or at ``least`` so many are.
    A field that is called a name is preferred, then the first.
    """
    texts = dict[str, Column]()
    for column in columns:
        if column.is_name:
            return column
        if profile := profiles.get(column.name) if column.type.is_text else None:
            distinct, count = profile["distinct"], profile["count"]
            is_full = "distinct_is_estimated" in profile or distinct == count
            is_name = is_full and not profile["nulls"] and profile["longest"] <= MAX_NAME_LENGTH
            if distinct >= least if least else is_name:
                texts.setdefault(column.name.casefold(), column)
    return next((texts[each] for each in (*_NAMES, *texts) if each in texts), None)


def narrow_profiles(profiles: Profiles, conditions: Iterable[Condition]) -> Profiles:
    """Keep in profiles what conditions leave of fields: one value, or the dates from an end."""
    narrowed = {name: {**profile} for name, profile in profiles.items()}
    for each in conditions:
        match each:
            case In(name, (_,)) | Comparison(name, "ieq", _) if name in narrowed:
                narrowed[name] |= {"distinct": 1, "nulls": 0}
            case Comparison(name, "gt" | "gte" | "lt" | "lte" as operator, value):
                end, choose = ("min", max) if operator.startswith("g") else ("max", min)
                if isinstance(found := narrowed.get(name, {}).get(end), str):
                    narrowed[name][end] = choose(found, str(value))
    return narrowed


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
USEFUL_VALUES = range(3, 51)

#: Names of fields that identify records, places or things.  *No* and *Number* are amounts when they
#: stand alone, or after a plural: *guests no*.
_KEY_NAME = re.compile(
    r"""
    ^(?!(total|sum|mean|avg|average|min|max|votes?)[_. -])(
    (.*[_.: -])?(id|key|nr|uuid|code|c[óo]digo|fips|isbn|issn|ean|gtin|upc|sku|ssn|npi|siren|siret
        |insee|ags|plz|postleitzahl|cep|cnpj|zip|(zip|pin|post|postal|bar)code|phone|fax
        |t[ée]l([ée](ph|f)on[eo]?)?)[_. ]?[1-9]?
    |.+(?<![a-rt-z]s)(?<![a-rt-z]s[_. -])(\#|[_. -](no|number)\.?)
    |.*(nummer|schlüssel)|([fgopu]|geo|geoname|object|user|customer|order|product|person|patient|station)id)$
    |^(_?id|c[óo]digo|mã(?![ ]lực)|numéro|(số[ ])?điện[ ]thoại)([_ ]|$)
    |^(ال)?(رقم(?![ ]ال(قياسي|أعمال|معاملات))|رمز|كود)([_ ]|$)
    |^c[óo]d[_.]|^code[_ ](postal|insee|commune|epci|d[ée]p|r[ée]g|d[eu][_ ])|^field_1$
    |(?-i:(?<=[a-z])(I[Dd]|Code|Key|(?<![a-rt-z]s)(?<!otal)(Number|No)|Nr|Zip)$)
    """,
    re.IGNORECASE | re.VERBOSE,
)

#: Whole numbers that are years if all values of a field are among them; by its name, older ones.
_YEARS, _NAMED_YEARS = range(1800, 2101), range(1000, 2101)
#: Names of fields whose numbers are years, or days and months without separators.
_YEAR_NAME = re.compile(
    r"^(year|jahr|ann[ée]e|a[ñn]o|năm|سنة|(.*(?<!to)[_ ])?date|yyyy_?mm(_?dd)?|year_?month)$"
    r"|^year[_ ](of|built)|^(birth|death|model|fiscal|school|end)[_ ]?year$|(bau|geburts)jahr$",
    re.IGNORECASE,
)

#: The share of all records in one bar, from which a histogram shows nothing else.
_SKEWED_SHARE = 0.75


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


@dataclass(frozen=True, slots=True, eq=False)
class FacetField:
    """
    A field with the kind of its facet; it is ``wanted`` if the address names it.

    Its values ``can_be_searched`` if it is a text, and named first.  Nothing is known of them if it
    ``is_guessed``.  Most records lack it if it ``is_sparse``.  Ranges of equal width would put
    nearly all of them into one if it ``is_skewed``.
    """

    column: Column
    kind: FacetKind
    is_wanted: bool = False
    can_be_searched: bool = False
    is_guessed: bool = False
    is_sparse: bool = False
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
    profiled = [each for each in columns if not profiles or each.name in profiles]
    fields = list_facet_fields(profiled, profiles, query.facets)
    chosen = [each for each in fields if each.is_wanted]
    chosen += [each for each in fields if each.column.name in asked and not each.is_wanted]
    chosen = chosen[: max(MAX_FACETS, len(query.facets))]
    free = [each for each in fields if each.column.name not in key and each not in chosen]
    # What ``_MAX_CHOSEN`` counts.
    groups = {
        each: "categories" if each.kind is FacetKind.VALUES else each.column.kind for each in fields
    }
    useful, numbers = list_useful(free, profiles), Counter(groups[each] for each in chosen)
    for most in _MAX_CHOSEN:
        for each in useful:
            is_next = len(chosen) < MAX_FACETS and each not in chosen
            if is_next and numbers[groups[each]] < most.get(groups[each], 0):
                numbers[groups[each]] += 1
                chosen.append(each)
    # A facet stays in its place when something is chosen in it.
    in_order = sorted(fields, key=partial(_rank, profiles=profiles))
    chosen = [each for each in in_order if each in chosen]
    chosen.sort(key=attrgetter("is_wanted"), reverse=True)
    return chosen, [each.column for each in fields if each not in chosen]


def list_facet_fields(
    columns: Sequence[Column], profiles: Profiles, wanted: Sequence[str] = ()
) -> list[FacetField]:
    """Describe the facets that fields can have; ``wanted`` names always have one."""
    fields = []
    for column in columns:
        profile, is_text = profiles.get(column.name), column.type.is_text
        kind, is_wanted = find_kind(column, profile), column.name in wanted
        if is_wanted:
            kind = FacetKind.VALUES if is_text else kind or FacetKind.TEXT
        if kind:
            is_first = is_text and wanted[:1] == (column.name,)
            is_sparse = profile is not None and profile["nulls"] > profile["count"]
            states = is_wanted, is_first, profile is None, is_sparse, is_skewed(column, profile)
            fields.append(FacetField(column, kind, *states))
    return fields


def find_kind(column: Column, profile: Mapping[str, Any] | None) -> FacetKind | None:
    """Find the kind of a field's facet; None for lists and nested data."""
    if column.type.is_boolean:
        return FacetKind.VALUES
    if column.type.is_integer and profile and has_few_values(profile, MAX_NUMBERS):
        return FacetKind.VALUES
    if column.type.has_range:
        return FacetKind.RANGE
    if not column.type.is_text:
        return None
    # Of a table without profiles, the number of values is known once they are counted.
    is_category = profile is None or has_few_values(profile, MAX_CATEGORIES)
    return FacetKind.VALUES if is_category else FacetKind.TEXT


def is_skewed(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether one bar of a histogram of numbers from 0 on holds nearly all records."""
    histogram = profile and profile.get("histogram")
    if not (histogram and column.type.is_number and histogram["bounds"][0] >= 0):
        return False
    counts = histogram["counts"]
    return len(counts) > 1 and max(counts) > _SKEWED_SHARE * sum(counts)


def is_year(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether a field has years; by its name also such as ``1900.0``."""
    if _KEY_NAME.search(column.name):  # the key of the records may be a year
        return False
    is_named = column.type.is_number and bool(_YEAR_NAME.search(column.name))
    years = _NAMED_YEARS if is_named else _YEARS
    ends = (Decimal(str((profile or {}).get(end, 0))) for end in ("min", "max"))
    return (column.type.is_integer or is_named) and all(end in years for end in ends)


def list_useful(fields: Sequence[FacetField], profiles: Profiles) -> list[FacetField]:
    """List the fields that divide records, and are not their key, the most useful first."""
    useful = []
    for each in fields:
        column, profile = each.column, profiles.get(each.column.name)
        count, distinct = (profile["count"], profile["distinct"]) if profile else (0, 0)
        distinct = count if profile and "distinct_is_estimated" in profile else distinct
        is_number = column.type.is_integer and each.kind is FacetKind.RANGE
        is_even = bool(profile) and distinct * count_most(profile or {}) == count
        if profile and is_number and is_even and not is_year(column, profile) and "min" in profile:
            # As many records of each are those of a key of a panel.
            is_sequence = int(profile["max"]) - int(profile["min"]) + 1 == count
            is_useful = distinct == count and not is_sequence and not column.is_key
        else:
            is_useful = not profile or bool(count and distinct + bool(profile["nulls"]) > 1)
        useful += [each] if is_useful else []
    return sorted(useful, key=partial(_rank, profiles=profiles))


def count_most(profile: Mapping[str, Any]) -> int:
    """Return the number of records that have the most common value."""
    return int(profile["top"][0]["count"]) if "top" in profile else 1


def _rank(field: FacetField, profiles: Profiles) -> tuple[int, bool, int, int]:
    """Rank by kind, sparse fields behind others, times of day behind days, numbers behind texts."""
    profile, kind = profiles.get(field.column.name), field.column.type
    is_sparse = field.is_sparse
    if field.kind is not FacetKind.VALUES or not profile:
        return field.kind, is_sparse, kind.is_timestamp or (kind.is_moment and not kind.has_day), 0
    values = profile["distinct"] + bool(profile["nulls"])
    is_amount = kind.is_number and not is_year(field.column, profile)
    is_amount = is_amount or field.column.is_key
    return field.kind, is_sparse, 2 * is_amount + (values not in USEFUL_VALUES), values


# What profiles say --------------------------------------------------------------------------------

#: The most common values of a field that get a bar.
MAX_BARS = 5

#: A profile cuts values to this length.
MAX_PROFILED_LENGTH = 100

#: Means below this are written without an exponent.
_MIN_EXPONENT_MEAN = 1e15


@dataclass(frozen=True, slots=True)
class Bar:
    """
    A value, the number of records that have it, and the width of its bar in per cent of all.

    The link finds these records; it is empty where the page cannot ask for the value.  One bar may
    be of the records without a value.
    """

    value: str
    count: str
    width: str
    link: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Histogram:
    """An SVG path, as many units wide as there are bins and 100 high, and the outer bounds."""

    outline: str
    width: int
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class FieldNote:
    """
    A field with facts about its values and a chart of them.

    With a histogram, the only bar is that of records without a value.  The field ``is_complete`` if
    every record has a value, as far as that is known.
    """

    column: Column
    facts: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None
    is_complete: bool = False


def describe_fields(columns: Sequence[Column], profiles: Profiles) -> list[FieldNote]:
    """Describe the fields of columns, with the statistics of their values if there are any."""
    notes = []
    for column in columns:
        profile = profiles.get(column.name)
        if profile is None:
            notes.append(FieldNote(column))
            continue
        count, nulls, distinct = profile["count"], profile["nulls"], profile["distinct"]
        bars, facts = [], []
        histogram = draw_histogram(column, profile.get("histogram"))
        top = () if histogram else profile.get("top", ())
        is_exact = has_variants([each["value"] for each in top])
        for each in top[:MAX_BARS]:
            value = each["value"]
            text = value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
            is_cut = isinstance(value, Mapping | list) or len(str(value)) >= MAX_PROFILED_LENGTH
            pair = (f"field.{column.name}", text)
            pair = write_filters([In(column.name, (value,))]) if is_exact or not text else pair
            link = "" if is_cut else QueryString((pair,)).link
            width = f"{100 * each['count'] / (count + nulls):.4g}"
            shown = _format_profiled(column, value if text.strip() else json.dumps(value))
            bars.append(Bar(shown, format_count(each["count"]), width, link))
        if nulls:
            share = 100 * nulls / (count + nulls)
            link = QueryString(((f"empty.{column.name}", "yes"),)).link
            bars.append(Bar(_("empty"), format_count(nulls), f"{share:.4g}", link, is_empty=True))
            percent = Decimal(f"{min(max(share, 0.1), 99):.2g}" if count else 100)
            facts.append(_("%(share)s empty") % {"share": format_percent(percent)})
        if profile.get("distinct_is_estimated"):
            two_figures = int(float(f"{distinct:.2g}"))
            facts.append(_("about %(number)s values") % {"number": format_count(two_figures)})
        elif count:
            text = ngettext("%(number)s value", "%(number)s values", distinct)
            facts.append(text % {"number": format_count(distinct)})
        if "min" in profile:
            low, high = (_format_profiled(column, profile[end]) for end in ("min", "max"))
            facts.append(_("%(low)s to %(high)s") % {"low": low, "high": high})
        if "mean" in profile:
            # Six figures, or more where it is a large whole number.
            mean, text = profile["mean"], f"{profile['mean']:.6g}"
            text = f"{mean:.0f}" if "e+" in text and abs(mean) < _MIN_EXPONENT_MEAN else text
            facts.append(_("mean %(mean)s") % {"mean": format_number(text, column.style)})
        if profile.get("longest"):
            lengths = {name: format_count(profile[name]) for name in ("shortest", "longest")}
            facts.append(_("%(shortest)s to %(longest)s characters") % lengths)
        notes.append(FieldNote(column, tuple(facts), tuple(bars), histogram, not nulls))
    return notes


def draw_histogram(column: Column, histogram: Mapping[str, Any] | None) -> Histogram | None:
    """Draw ``counts`` of bins between ``bounds``: the fullest is 100 high, any other at least 2."""
    if histogram is None:
        return None
    counts, bounds = histogram["counts"], histogram["bounds"]
    most = max(counts) or 1
    tops = [100 - max(round(100 * each / most), 2 if each else 0) for each in counts]
    outline = "".join(f"V{top}h1" for top in tops)
    ends = (_format_profiled(column, bounds[position]) for position in (0, -1))
    return Histogram(f"M0 100{outline}V100Z", len(counts), *ends)


def _format_profiled(column: Column, value: object) -> str:
    """Write a value of a profile as the table of records does."""
    if isinstance(value, bool) or (isinstance(value, str) and column.kind != "number"):
        return column.write(value)
    text = value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
    return format_number(shorten_number(text), column.style)

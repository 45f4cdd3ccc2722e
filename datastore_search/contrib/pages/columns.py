"""The columns of a data page: which are shown, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

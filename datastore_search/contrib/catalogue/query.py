"""
Parse what clients send to search a catalogue: ``q``, ``fq`` and ``sort`` in the forms of Solr.

Source: CKAN ``package_search``, which passes them to Solr.  Here words are joined by AND; ``OR``,
``NOT``, ``+``, ``-``, brackets, quotes, ``field:value``, ``field:*``, ``field:(a OR b)`` and
``field:[a TO b]`` are understood, with times such as ``NOW-7DAYS/DAY``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC
from typing import Any, Final

from django.db.models import DateTimeField, DurationField, Func, Q, Value
from django.db.models.functions import Cast, Now
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from ...filters.names import SortKey
from ...messages.parameters import InvalidParameter


class InvalidCatalogueQuery(InvalidParameter):
    parameter = "q"
    message = _("The query cannot be understood at “%(text)s”.")


class UnknownCatalogueField(InvalidParameter):
    parameter = "q"
    message = _("The catalogue has no field “%(field)s”.")


NOTHING: Final = Q(pk__in=())
EVERYTHING: Final = ~NOTHING

#: Each clause compares every dataset.
MAX_CLAUSES: Final = 50
MAX_DEPTH: Final = 10

#: The fields that a range may bound, with their columns (``conditions.build_columns``).
TIMES: Final[Mapping[str, str]] = {"metadata_modified": "modified", "metadata_created": "created"}

#: The conditions on a text, by the names of fields; the empty name is for words without one.
Fields = Mapping[str, Callable[[str], Q]]

#: The names of ``sort``, with their columns; ``score`` has no meaning without ranks.
SORTS: Final[Mapping[str, str]] = {**TIMES, "name": "shown_as", "id": "pk", "title": "sorted_as"}
_SORT_NAMES: Final = {
    "title_string": "title",
    "title_sort": "title",
    "last_modified": "metadata_modified",
}
_UNSORTED: Final = frozenset({"score", "rank", "relevance", "views_recent", "views_total"})

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<everything>\*:\*)
      | (?P<open>\() | (?P<close>\))
      | (?P<sign>[+!-])(?=\S)
      | (?P<field>[A-Za-z_][\w.-]*):(?!//)(?=\S)
      | (?P<opened>[\[{])\s*(?P<low>[^\s\]}]+)\s+TO\s+(?P<high>[^\s\]}]+)\s*(?P<closed>[\]}])
      | "(?P<phrase>(?:[^"\\]|\\.)*)"
      | (?P<word>(?:[^\s()"\\]|\\.)+)
    )""",
    re.VERBOSE,
)


#: What Solr would read as a pattern or a likeness, outside of quotes: it is refused.
_UNSUPPORTED: Final = re.compile(r"[^*\\]\*+[^*]|[~^][0-9.]*$")

#: A time of Solr, with what is added to it or rounded down.
_TIME: Final = re.compile(r"(?P<base>\S+?)(?P<steps>(?:[+-][0-9]{1,6}[A-Z]+|/[A-Z]+){0,5})")
_STEP: Final = re.compile(r"([+-]|/)([0-9]*)([A-Z]+?)S?(?=[+/-]|$)")

#: The units of steps, with their days: a step is at most 900 years, as PostgreSQL's times begin in
#: 4713 BC.
_UNITS: Final = {"YEAR": 366, "MONTH": 31, "DAY": 1, "HOUR": 1, "MINUTE": 1, "SECOND": 1}
_MAX_STEP_DAYS: Final = 329_400


def parse_catalogue_query(text: str, parameter: str, fields: Fields) -> Q:
    """
    Parse a query into a condition on datasets; an empty one matches every dataset.

    Raises: ``InvalidCatalogueQuery``; ``UnknownCatalogueField``.
    """
    if not text.strip():
        return EVERYTHING
    parser = _Parser(text, parameter, fields)
    condition = parser.parse_alternatives("", 0)
    if parser.kind:
        raise parser.build_error()
    return condition


def find_plain_words(text: str) -> str:
    """Return a query that has words and phrases alone, as the search of a table reads it, or ''."""
    words = []
    # Of a run of blanks, each would be looked for to its end.
    for match in _TOKEN.finditer(" ".join(text.split())):
        word, phrase = match["word"], match["phrase"]
        if phrase is None and (word is None or "*" in word or word in _OPERATORS):
            return ""
        if word is None or "\\" in word:  # what is escaped is no operator there, either
            text = _unescape(phrase if word is None else word).replace('"', " ")
            word = f'"{text}"'
        words.append(word)
    return " ".join(words)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


_OPERATORS: Final = frozenset({"AND", "&&", "OR", "||", "NOT"})


def parse_catalogue_sort(text: str) -> list[SortKey]:
    """
    Parse the order of datasets, the last modified first if not given; ties are in order of the id.

    Raises: ``InvalidCatalogueQuery``; ``UnknownCatalogueField``.
    """
    terms: list[SortKey] = []
    for part in [each.split() for each in text.split(",") if each.strip()][:MAX_CLAUSES]:
        name, direction = part[0], " ".join(part[1:]).lower() or "asc"
        if direction not in {"asc", "desc"}:
            raise InvalidCatalogueQuery(parameter="sort", text=" ".join(part)[:100])
        name = _SORT_NAMES.get(name, name)
        if name in SORTS:
            terms.append(SortKey(name, direction == "desc"))
        elif name not in _UNSORTED:
            raise UnknownCatalogueField(parameter="sort", field=name[:100])
    return [*(terms or [SortKey("metadata_modified", descending=True)]), SortKey("id")]


_ROUNDED: Final[Mapping[str, Any]] = {"function": "date_trunc", "output_field": DateTimeField()}


class _Parser:
    """The parser of one query; ``kind`` and ``value`` describe the next token."""

    def __init__(self, text: str, parameter: str, fields: Fields) -> None:
        self._parameter = parameter
        self._fields = fields
        self._clauses = 0
        self._text, self._position = text.rstrip(), 0
        self.kind: str = ""
        self.value: tuple[str, ...] = ("",)
        self._advance()

    def build_error(self) -> InvalidCatalogueQuery:
        return InvalidCatalogueQuery(parameter=self._parameter, text=self.value[0][:100])

    def parse_alternatives(self, field: str, depth: int) -> Q:
        """Parse clauses, and ``OR`` between them, up to a closing bracket or the end."""
        if depth > MAX_DEPTH:
            raise self.build_error()
        found = self._parse_conjunction(field, depth)
        while self._is_operator("OR", "||"):
            self._advance()
            found |= self._parse_conjunction(field, depth)
        return found

    def _parse_conjunction(self, field: str, depth: int) -> Q:
        found = self._parse_clause(field, depth)
        while self.kind not in {"", "close"} and not self._is_operator("OR", "||"):
            if self._is_operator("AND", "&&"):
                self._advance()
            found &= self._parse_clause(field, depth)
        return found

    def _parse_clause(self, field: str, depth: int) -> Q:
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise self.build_error()
        is_negated = False
        while self.kind == "sign" or self._is_operator("NOT"):
            is_negated ^= self.value[0] != "+"
            self._advance()
        if self.kind == "field":
            field = self.value[0]
            if field not in self._fields:
                raise UnknownCatalogueField(parameter=self._parameter, field=field[:100])
            self._advance()
        condition = self._parse_value(field, depth)
        return ~condition if is_negated else condition

    def _parse_value(self, field: str, depth: int) -> Q:
        kind, (value, *ends) = self.kind, self.value
        if kind in {"", "close", "sign", "field"}:
            raise self.build_error()
        is_time = field in TIMES and kind in {"word", "phrase"} and value != "*"
        is_pattern = _UNSUPPORTED.search(value) or (field and "?" in value)
        is_other_range = kind == "range" and field not in TIMES
        if is_time or (kind == "word" and is_pattern) or is_other_range:
            raise self.build_error()
        self._advance()
        if kind == "open":
            condition = self.parse_alternatives(field, depth + 1)
            if self.kind != "close":
                raise self.build_error()
            self._advance()
            return condition
        if kind == "everything" or (kind == "word" and value == "*" and not field):
            return EVERYTHING
        if kind == "range":
            high, opened, closed = ends
            bounds = {
                "gte" if opened == "[" else "gt": self._parse_time(value),
                "lte" if closed == "]" else "lt": self._parse_time(high),
            }
            compared = {f"{TIMES[field]}__{name}": bound for name, bound in bounds.items() if bound}
            return EVERYTHING & Q(**compared)
        return self._fields[field](_unescape(value))

    def _parse_time(self, text: str) -> Any:
        """Parse an end of a range, such as ``NOW-1MONTH/DAY``, as Solr; None for an open one."""
        if text == "*":
            return None
        match = _TIME.fullmatch(text)
        base, steps = (match["base"], match["steps"]) if match else (text, "")
        moment: Any = None
        with suppress(ValueError):
            moment = parse_datetime(base if "T" in base else f"{base}T00:00:00")
        if moment is not None and not moment.tzinfo:
            moment = moment.replace(tzinfo=UTC)
        moment = Now() if base == "NOW" else moment and Value(moment)
        for sign, number, unit in _STEP.findall(steps):
            is_known = unit in _UNITS and bool(number) == (sign != "/")
            if not is_known or int(number or 0) * _UNITS[unit] > _MAX_STEP_DAYS:
                moment = None
            elif moment is not None and sign == "/":
                moment = Func(Value(unit.lower()), moment, Value("UTC"), **_ROUNDED)
            elif moment is not None:
                moment += Cast(Value(f"{sign}{number} {unit.lower()}"), DurationField())
        if moment is None:
            raise InvalidCatalogueQuery(parameter=self._parameter, text=text[:100])
        return moment

    def _is_operator(self, *words: str) -> bool:
        return self.kind == "word" and self.value[0] in words

    def _advance(self) -> None:
        """Read the kind of the next token, and its text; a range has two, and its brackets."""
        self.kind, self.value = "", ("",)
        if self._position == len(self._text):
            return
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            text = self._text[self._position : self._position + 100]
            raise InvalidCatalogueQuery(parameter=self._parameter, text=text)
        self._position, kind = match.end(), str(match.lastgroup)
        is_range = kind == "closed"
        self.kind = "range" if is_range else kind
        names = ("low", "high", "opened", "closed") if is_range else (kind,)
        self.value = tuple(match[name] for name in names)

"""
Parse what clients send to search a catalogue: ``q``, ``fq`` and ``sort`` in the forms of Solr.

Source: CKAN ``package_search``, which passes them to Solr.  Here words are joined by AND; ``OR``,
``NOT``, ``+``, ``-``, brackets, quotes, ``field:value``, ``field:*``, ``field:(a OR b)`` and
``field:[a TO b]`` are understood.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from django.db.models import CharField, F, Q, Value
from django.db.models.expressions import OrderBy
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils.dateparse import parse_datetime

from ..exceptions.catalogue import InvalidCatalogueQuery, UnknownCatalogueField
from ..models import Field
from .descriptions import FORMAT, build_publisher_id, build_publisher_name

#: Each clause compares every resource.
MAX_CLAUSES: Final = 50
MAX_DEPTH: Final = 10

NOTHING: Final = Q(pk__in=())
EVERYTHING: Final = ~NOTHING

#: The order of ``sort``'s names; ``score`` has no meaning without ranks.
_SORTS: Final[Mapping[str, OrderBy | F | Lower]] = {
    "metadata_modified": F("modified_at"),
    "metadata_created": F("created_at"),
    "name": F("name"),
    "id": F("pk"),
    "title": Lower(Coalesce(NullIf(F("title"), Value("")), F("name"), output_field=CharField())),
}
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
      | \[\s*(?P<low>[^\s\]]+)\s+TO\s+(?P<high>[^\s\]]+)\s*\]
      | "(?P<phrase>(?:[^"\\]|\\.)*)"
      | (?P<word>(?:[^\s()"\\]|\\.)+)
    )""",
    re.VERBOSE,
)


def match_word(word: str) -> Q:
    """Match the resources that hold a word in a name, title, description, tag, id or field."""
    # PostgreSQL makes one hash table of them, in place of a look-up for each resource.
    fields = Field.objects.filter(Q(name__icontains=word) | Q(label__icontains=word))
    return (
        Q(title__icontains=word)
        | Q(name__icontains=word)
        | Q(description__icontains=word)
        | Q(publisher__icontains=word)
        | Q(tags__contains=[word])
        | Q(id__icontains=word)
        | Q(pk__in=fields.order_by().values("resource_id"))
    )


def parse_catalogue_query(text: str, parameter: str, publishers: Callable[[], list[str]]) -> Q:
    """
    Parse a query into a condition on resources; an empty one matches every resource.

    ``publishers`` lists the publishers that the query may name, and is called only if it names one.

    Raises: ``InvalidCatalogueQuery``; ``UnknownCatalogueField``.
    """
    if not text.strip():
        return EVERYTHING
    parser = _Parser(text, parameter, publishers)
    condition = parser.parse_alternatives("", 0)
    if parser.kind:
        raise parser.build_error()
    return condition


def parse_catalogue_sort(text: str) -> list[OrderBy]:
    """
    Parse the order of datasets, the last modified first if not given; ties are in order of the id.

    Raises: ``InvalidCatalogueQuery``; ``UnknownCatalogueField``.
    """
    orders: list[OrderBy] = []
    for part in [each.split() for each in text.split(",") if each.strip()][:MAX_CLAUSES]:
        name, direction = part[0], " ".join(part[1:]).lower() or "asc"
        if direction not in {"asc", "desc"}:
            raise InvalidCatalogueQuery(parameter="sort", text=" ".join(part)[:100])
        name = _SORT_NAMES.get(name, name)
        if name in _SORTS:
            orders.append(OrderBy(_SORTS[name], descending=direction == "desc"))
        elif name not in _UNSORTED:
            raise UnknownCatalogueField(parameter="sort", field=name[:100])
    return [*(orders or [F("modified_at").desc()]), F("pk").asc()]


# Parsing ------------------------------------------------------------------------------------------


class _Parser:
    """One query, read from left to right; ``kind`` and ``value`` are those of the next token."""

    def __init__(self, text: str, parameter: str, publishers: Callable[[], list[str]]) -> None:
        self._parameter = parameter
        self._publishers = publishers
        self._clauses = 0
        self._tokens = self._read_tokens(text)
        self.kind, self.value = "", ("", "")
        self._advance()

    def build_error(self) -> InvalidCatalogueQuery:
        """Build the exception that shows where the query cannot be understood."""
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
            if field not in _FIELDS:
                raise UnknownCatalogueField(parameter=self._parameter, field=field[:100])
            self._advance()
        condition = self._parse_value(field, depth)
        return ~condition if is_negated else condition

    def _parse_value(self, field: str, depth: int) -> Q:
        kind, (value, high) = self.kind, self.value
        if kind in {"", "close", "sign", "field"}:
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
            return self._match_range(field, value, high)
        text = re.sub(r"\\(.)", r"\1", value)
        if field in {"organization", "owner_org"}:
            return _match_publisher(text, self._publishers())
        return _FIELDS[field](text)

    def _match_range(self, field: str, low: str, high: str) -> Q:
        column = _TIMES.get(field)
        if column is None:
            raise self.build_error()
        condition = EVERYTHING
        for bound, operator in ((low, "gte"), (high, "lte")):
            if bound != "*":
                condition &= Q(**{f"{column}__{operator}": self._parse_time(bound)})
        return condition

    def _parse_time(self, text: str) -> datetime:
        try:
            moment = parse_datetime(text if "T" in text else f"{text}T00:00:00")
        except ValueError:
            moment = None
        if moment is None:
            raise InvalidCatalogueQuery(parameter=self._parameter, text=text[:100])
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _is_operator(self, *words: str) -> bool:
        return self.kind == "word" and self.value[0] in words

    def _advance(self) -> None:
        self.kind, self.value = next(self._tokens, ("", ("", "")))

    def _read_tokens(self, text: str) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the kind of each token, and its text; a range has two texts."""
        position, text = 0, text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise InvalidCatalogueQuery(
                    parameter=self._parameter, text=text[position : position + 100]
                )
            position = match.end()
            kind = str(match.lastgroup)
            if kind == "high":
                yield "range", (match["low"], match["high"])
            else:
                yield kind, (match[kind], "")


# Fields -------------------------------------------------------------------------------------------


def _match_text_anywhere(text: str) -> Q:
    word = text.strip("*")
    return match_word(word) if word else EVERYTHING


def _match_text(column: str, text: str) -> Q:
    """Match a value exactly, or its beginning where the text ends in ``*``."""
    if text == "*":
        return ~Q(**{column: ""})
    if text.endswith("*"):
        return Q(**{f"{column}__istartswith": text[:-1]})
    return Q(**{f"{column}__iexact": text})


def _match_part(column: str, text: str) -> Q:
    return Q(**{f"{column}__icontains": text.strip("*")})


def _match_id(text: str) -> Q:
    if text == "*":
        return EVERYTHING
    try:
        return Q(pk=uuid.UUID(text))
    except ValueError:
        return NOTHING


def _match_tag(text: str) -> Q:
    return ~Q(tags=[]) if text == "*" else Q(tags__contains=[text])


def _match_publisher(text: str, publishers: list[str]) -> Q:
    if text == "*":
        return ~Q(publisher="")
    named = [
        each
        for each in publishers
        if text in {build_publisher_name(each), build_publisher_id(each)}
    ]
    return Q(publisher__in=named) if named else NOTHING


def _match_constant(constant: str, text: str) -> Q:
    """Match all resources or none, by a member that all of them have in common."""
    return EVERYTHING if text.casefold() in {constant.casefold(), "*"} else NOTHING


def match_format(text: str) -> Q:
    """Match all resources by the format of their files, or none."""
    return _match_constant(FORMAT, text)


def _match_private(true: str, text: str) -> Q:
    return EVERYTHING if text == "*" else Q(private=text.casefold() == true)


_TIMES: Final = {"metadata_modified": "modified_at", "metadata_created": "created_at"}

#: How each field of a query is matched; the empty name is that of words without a field.
_FIELDS: Final[Mapping[str, Callable[[str], Q]]] = {
    "": _match_text_anywhere,
    "text": _match_text_anywhere,
    "id": _match_id,
    "name": partial(_match_text, "name"),
    "title": partial(_match_part, "title"),
    "notes": partial(_match_part, "description"),
    "tags": _match_tag,
    "organization": lambda text: _match_publisher(text, []),
    "owner_org": lambda text: _match_publisher(text, []),
    "groups": lambda _text: NOTHING,
    "license_id": partial(_match_text, "license"),
    "maintainer": partial(_match_text, "contact"),
    "author": partial(_match_text, "publisher"),
    "url": partial(_match_text, "source"),
    "res_format": match_format,
    "res_name": partial(_match_part, "title"),
    "res_description": partial(_match_part, "description"),
    "state": partial(_match_constant, "active"),
    "type": partial(_match_constant, "dataset"),
    "dataset_type": partial(_match_constant, "dataset"),
    "entity_type": partial(_match_constant, "package"),
    "capacity": partial(_match_private, "private"),
    "private": partial(_match_private, "true"),
    "metadata_modified": lambda text: EVERYTHING if text == "*" else NOTHING,
    "metadata_created": lambda text: EVERYTHING if text == "*" else NOTHING,
}

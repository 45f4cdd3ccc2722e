"""The query of a data page: the parameters of its address, named as in the API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from django.db import connections, router
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ....database.server import cast_texts
from ....field_types import dump_json_as_sent, field_types, is_storable, refuse_constant
from ....filters import (
    MAX_WORDS,
    Comparison,
    Condition,
    Or,
    TypedFields,
    compile_conditions,
    has_too_many_words,
    parse_filters,
)
from ....filters.names import SortKey, parse_sort_key, split_names, unquote_name
from ....messages.parameters import InvalidParameters, UnknownField
from ....messages.requests import QueryStringTooLong, TooManyParameters
from ....messages.search import InvalidSort, TooManyWords, UnsortableField
from ....models import Resource
from ....search import ID, Query
from ..api_parameters import format_filters
from ..embedding.framing import EMBED
from .conditions import NOT_EMPTY, FieldCondition, parse_field_condition, split_parameter
from .parameter_errors import describe_parameter_errors
from .query_string import Pair, QueryString

MAX_Q_LENGTH = 1_000
MAX_SORT_KEYS = 10

#: Each value of an address, and each of its ``filters``, is a condition.
MAX_CONDITIONS = 40

#: Letters of a question in an address: every link of a page repeats it.
MAX_QUESTION_LENGTH = 2_000

#: The records of a page that may be chosen with ``limit``; the first if none is.
PAGE_SIZES = (25, 50, 100, 250)

#: The parameters of a condition that the form makes of three inputs.
CHOSEN_FIELD, CHOSEN_OPERATOR, CHOSEN_VALUE = "field", "op", "value"

#: Parameters that say how the table shows the records, not which ones.
OF_TABLE = ("sort", "fields", "hide", "first", "columns", "limit", CHOSEN_VALUE, EMBED)

_SINGLE = ("q", "filters", "limit", "columns", "find")
_KNOWN = {*_SINGLE, "sort", "fields", "hide", "first", "facet", EMBED}
_POSITION = re.compile(r"[1-9][0-9]{0,4}")


class TooManyConditions(TooManyParameters):
    """An address has more conditions than a page takes."""

    message = gettext_lazy(
        "A page has at most %(most)s conditions. Leave some out, or ask the API."
    )


@dataclass(frozen=True, slots=True)
class PageQuery:
    """
    A parsed address.

    ``conditions`` come from single parameters, ``filters`` from the API's parameter, and
    ``sort`` the keys of the order.  ``fields`` are the chosen columns, if any; ``hidden`` are left
    out and ``first`` come first; ``facets`` are the fields whose facets are wanted,
    of which the first has values with the text ``find``.
    ``first_column`` counts columns from 1.  ``errors`` concern more than one condition.
    """

    query_string: QueryString
    q: str = ""
    conditions: tuple[FieldCondition, ...] = ()
    filters: tuple[Condition, ...] = ()
    sort: tuple[SortKey, ...] = ()
    fields: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    facets: tuple[str, ...] = ()
    find: str = ""
    size: int = PAGE_SIZES[0]
    first_column: int = 1
    q_errors: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Return whether the records can be searched."""
        return not (self.q_errors or self.errors or any(each.error for each in self.conditions))

    @property
    def all_errors(self) -> list[str]:
        """All errors, for a page that does not show them beside what they are about."""
        of_conditions = [each.error for each in self.conditions if each.error]
        return [*self.errors, *self.q_errors, *of_conditions]

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """The conditions of a valid query, which must all hold."""
        return (*_join_conditions(self.conditions), *self.filters)

    def build_search(self, limit: int | None, **options: Any) -> Query:
        """Build the search of a valid query, in its order."""
        conditions = self.all_conditions
        return Query(limit=limit, q=self.q, filters=conditions, sort=self.sort, **options)

    @property
    def has_conditions(self) -> bool:
        """Return whether the query restricts the records."""
        return bool(self.q or self.conditions or self.filters)

    @property
    def has_chosen_columns(self) -> bool:
        """Return whether columns were chosen, left out or moved."""
        return bool(self.fields or self.hidden or self.first)


def clean_parameters(sent: QueryDict) -> list[Pair]:
    """
    Write a query string in its shortest form, without empty and unknown parameters.

    A chosen field, operator and value become one parameter.
    """
    pairs = [
        (name, value)
        for name, values in sent.lists()
        for value in dict.fromkeys(values)
        if value and (name in _KNOWN or split_parameter(name)) and not _is_default(name, value)
    ]
    chosen = _build_chosen(sent)
    if chosen and chosen not in pairs:
        pairs.append(chosen)
    page = sent.get("page", "")
    if page not in ("", "1"):
        pairs.append(("page", page))
    return pairs


def _load_filters(text: str) -> Any:
    """Read the JSON of ``filters``."""
    filters = json.loads(text, parse_float=Decimal, parse_constant=refuse_constant)
    if not isinstance(filters, Mapping | list):
        raise ValueError(text)  # noqa: TRY004 - as what is not JSON at all
    return filters


def _is_default(name: str, value: str) -> bool:
    """Return whether a parameter changes nothing, or cannot."""
    if name == "limit":
        return value not in map(str, PAGE_SIZES[1:])
    if name == EMBED:
        return value != "1"
    return name == "columns" and (value == "1" or not _POSITION.fullmatch(value))


def _build_chosen(sent: QueryDict) -> Pair | None:
    """Make a parameter of a chosen field, operator and value; a value without a field stays."""
    field, value = sent.get(CHOSEN_FIELD, ""), sent.get(CHOSEN_VALUE, "")
    operator = sent.get(CHOSEN_OPERATOR) or "field"
    if operator in ("empty", NOT_EMPTY):
        operator, value = "empty", "yes" if operator == "empty" else "no"
        return (f"empty.{field}", value) if field else None
    if not value:
        return None
    name = f"{operator}.{field}"
    return (name, value) if field and split_parameter(name) else (CHOSEN_VALUE, value)


def parse_page_query(pairs: Iterable[Pair], resource: Resource) -> PageQuery:
    """
    Parse clean parameters of a page, whose errors are kept beside what they are about.

    Raises: ``QueryStringTooLong``, ``TooManyConditions``.
    """
    return _Parser(pairs, resource).parse()


def list_shared_parameters(query: PageQuery) -> list[Pair]:
    """
    List the parameters that ask for the same on a page in another language.

    Dates and numbers are written as the user's language does, but not in the API's ``filters``.
    """
    written = [each for each in query.conditions if each.field.type != "text"]
    left_out = {"filters", *(each.parameter for each in written)}
    pairs = [pair for pair in query.query_string.pairs if pair[0] not in left_out]
    if conditions := (*_join_conditions(written), *query.filters):
        pairs.append(("filters", dump_json_as_sent(format_filters(conditions))))
    return pairs


class _Parser:
    """Parses one address, and collects its errors."""

    def __init__(self, pairs: Iterable[Pair], resource: Resource) -> None:
        self._pairs = [pair for pair in pairs if pair[0] != "page"]
        self._values: dict[str, list[str]] = {}
        for name, value in self._pairs:
            self._values.setdefault(name, []).append(value)
        self._fields = {field.name: field for field in resource.schema}
        self._errors: list[str] = []

    def parse(self) -> PageQuery:
        query_string = QueryString(tuple(self._pairs))
        if len(query_string.query) > MAX_QUESTION_LENGTH:
            raise QueryStringTooLong(most=MAX_QUESTION_LENGTH)
        self._check_count(0)
        single = {name: self._get_single(name) for name in _SINGLE}
        if self._values.get(CHOSEN_VALUE):
            self._errors.append(_("Choose the field in which to look for the value."))
        query = PageQuery(
            query_string=query_string,
            q=single["q"],
            conditions=tuple(self._parse_conditions()),
            filters=self._parse_filters(single["filters"]),
            sort=self._parse_sort(),
            fields=self._parse_names("fields"),
            hidden=self._check_names(self._values.get("hide", [])),
            first=self._check_names(self._values.get("first", [])),
            facets=self._check_names(self._values.get("facet", [])),
            find=single["find"],
            size=int(single["limit"] or PAGE_SIZES[0]),
            first_column=int(single["columns"] or 1),
            q_errors=tuple(_check_q(self._values.get("q", []))),
        )
        if query.is_valid and not self._errors:
            try:  # of the number of conditions, the limits are those of the API
                parse_filters(format_filters(query.all_conditions))
            except InvalidParameters as error:
                self._errors += describe_parameter_errors(error)
        return replace(query, errors=tuple(self._errors))

    def _check_count(self, filter_count: int) -> None:
        own = sum(split_parameter(name) is not None for name, _value in self._pairs)
        if own + filter_count > MAX_CONDITIONS:
            raise TooManyConditions(most=MAX_CONDITIONS)

    def _get_single(self, name: str) -> str:
        values = self._values.get(name, [""])
        if len(values) > 1 and name != "q":
            self._errors.append(_("Give one value only."))
        return values[0]

    @cached_property
    def _typed_fields(self) -> TypedFields:
        cast = partial(cast_texts, connections[router.db_for_read(Resource)])
        sparse = frozenset(name for name, field in self._fields.items() if field.is_sparse)
        return TypedFields({name: field.type for name, field in self._fields.items()}, cast, sparse)

    def _parse_conditions(self) -> Iterator[FieldCondition]:
        fields = self._typed_fields
        for name, values in self._values.items():
            parts = split_parameter(name)
            if parts is None:
                continue
            operator, field_name = parts
            if field_name in self._fields:
                field = self._fields[field_name]
                yield parse_field_condition(operator, field, values, fields)
            else:
                self._add_unknown(field_name)

    def _parse_filters(self, text: str) -> tuple[Condition, ...]:
        if not text:
            return ()
        try:
            filters = _load_filters(text)
        except (ValueError, RecursionError):
            self._errors.append(_("The parameter “filters” is not valid JSON."))
            return ()
        try:
            conditions = parse_filters(filters)
            self._check_count(len(conditions))
            compile_conditions(conditions, self._typed_fields)
        except InvalidParameters as error:
            self._errors += describe_parameter_errors(error)
            return ()
        return conditions

    def _parse_sort(self) -> tuple[SortKey, ...]:
        keys: dict[str, SortKey] = {}
        for text in self._values.get("sort", []):
            for part in split_names(text, MAX_SORT_KEYS):
                try:
                    key = parse_sort_key(part)
                except InvalidSort as error:
                    self._errors += describe_parameter_errors(error)
                    continue
                if self._can_sort(key.field):
                    keys.setdefault(key.field, key)
        return tuple(keys.values())

    def _can_sort(self, name: str) -> bool:
        if name == ID:
            return True
        field = self._fields.get(name)
        if field is None:
            self._add_unknown(name)
        elif not field_types[field.type].is_sortable:
            error = UnsortableField(field=name, type=field.type)
            self._errors += describe_parameter_errors(error)
        else:
            return True
        return False

    def _parse_names(self, parameter: str) -> tuple[str, ...]:
        """Parse lists of names as the API does; ``_id`` is always shown."""
        names = [
            unquote_name(name)
            for text in self._values.get(parameter, [])
            for name in split_names(text, len(self._fields) + 1)
        ]
        return self._check_names(name for name in dict.fromkeys(names) if name != ID)

    def _check_names(self, names: Iterable[str]) -> tuple[str, ...]:
        known = []
        for name in names:
            if name in self._fields:
                known.append(name)
            else:
                self._add_unknown(name)
        return tuple(known)

    def _add_unknown(self, name: str) -> None:
        errors = describe_parameter_errors(UnknownField(field=name[:100]))
        self._errors += [error for error in errors if error not in self._errors]


def _join_conditions(conditions: Iterable[FieldCondition]) -> Iterator[Condition]:
    """List conditions that must all hold: a field has one of its values, or is empty."""
    asked = {each.parameter: each.condition for each in conditions if each.condition is not None}
    for each in conditions:
        name = each.field.name
        value, empty = asked.get(f"field.{name}"), asked.get(f"empty.{name}")
        if value and empty and each.operator in ("field", "empty") and _is_emptiness(empty):
            if each.operator == "field":
                yield Or((value, empty))
        elif each.condition is not None:
            yield each.condition


def _is_emptiness(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and condition.value is True


def _check_q(values: list[str]) -> Iterator[str]:
    if len(values) > 1:
        yield _("Give one value only.")
    for q in values[:1]:
        if not is_storable(q):
            yield _("The text contains a character that cannot be stored.")
        elif len(q) > MAX_Q_LENGTH:
            yield _("The search is longer than %(most)s characters.") % {"most": MAX_Q_LENGTH}
        elif has_too_many_words([q], plain=True):
            yield str(TooManyWords(most=MAX_WORDS))

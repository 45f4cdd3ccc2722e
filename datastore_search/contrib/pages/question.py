"""The question of a page: the parameters of its address, named as in the API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import cast
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _, gettext_lazy
from rest_framework.exceptions import ValidationError

from ...api.actions.search import build_query
from ...api.parameters import ConditionParameters, parse_json
from ...field_types import (
    Json,
    Operators,
    dump_json,
    dump_json_as_sent,
    field_types,
    is_storable,
    label_type,
)
from ...filters import (
    MAX_WORDS,
    And,
    Comparison,
    Condition,
    FiltersParser,
    In,
    Near,
    Or,
    TypedFields,
    compile_conditions,
    has_too_many_words,
)
from ...filters.names import (
    SortKey,
    format_sort_key,
    parse_sort_key,
    quote_name,
    split_names,
    unquote_name,
)
from ...filters.operators import Operand, Operator, operators
from ...messages import render_message
from ...messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ...messages.requests import MalformedJson, QueryStringTooLong, TooManyParameters
from ...messages.search import (
    InvalidFilterValue,
    InvalidSort,
    TooManyWords,
    UnsortableField,
    UnsupportedOperator,
)
from ...models import Field
from ...search import ID, ConsistentRead, Query
from .values import describe_type_error, parse_end_of_day, parse_typed_value

Pair = tuple[str, str]

#: The parameter of a button: other values of some parameters, as a query string.
CHANGE = "set"

#: The parameter of the field that a button sorts by; without a field, no order is left.
ORDER = "order"


@lru_cache(maxsize=1_024)
def _encode(pair: Pair) -> str:
    """Write a parameter, which hundreds of links of a page may repeat."""
    return urlencode([pair])


@dataclass(frozen=True, slots=True)
class QueryString:
    """Names and values of parameters, in the order of the address; none is empty."""

    pairs: tuple[Pair, ...] = ()

    def remove(self, *names: str) -> QueryString:
        return QueryString(tuple(pair for pair in self.pairs if pair[0] not in names))

    def replace(self, name: str, *values: str) -> QueryString:
        """Give a parameter other values, at the end."""
        return QueryString((*self.remove(name).pairs, *((name, value) for value in values)))

    @property
    def query(self) -> str:
        """The end of an address: empty, or a question mark with the parameters."""
        return f"?{'&'.join(map(_encode, self.pairs))}" if self.pairs else ""

    @property
    def link(self) -> str:
        """A link, relative to a page at a path that ends with a slash."""
        return self.query or "./"


def write_change(name: str, *values: str) -> str:
    """Write what a button changes: new values; or the parameter, or a value of "-name", goes."""
    return urlencode([(name, value) for value in values or ("",)])


def apply_change(sent: QueryDict, names: Sequence[str]) -> list[Pair]:
    """
    List the parameters that a button asks for, in the form that has those of its page.

    A button may sort by the field that is chosen beside it.  Of the ``names`` of columns, some may
    be checked: the fewer of the shown and hidden are listed.
    """
    change = parse_qsl(sent.get(CHANGE, ""), keep_blank_values=True)
    field = sent.get(ORDER, "")
    order = format_sort_key(SortKey(field, descending=(ORDER, "desc") in change)) if field else ""
    change = [("sort", order) if name == ORDER else (name, value) for name, value in change]
    if near := {name: str(sent[name]) for name in NEAR if sent.get(name)}:
        change.append(("geo", dump_json_as_sent({**near, "fields": sent.getlist(PLACE)})))
    if checked := set(sent.getlist("shown")):
        shown = [("fields", quote_name(name)) for name in names if name in checked]
        hidden = [("hide", name) for name in names if name not in checked]
        change += hidden if len(hidden) < len(shown) else shown
    given = {*change}
    replaced = {CHANGE, ORDER, "shown", PLACE, *NEAR, *(name for name, _value in change)}
    pairs = [(name, value) for name in sent if name not in replaced for value in sent.getlist(name)]
    kept = [(name, value) for name, value in pairs if (f"-{name}", value) not in given]
    return [*kept, *(pair for pair in change if pair[1] and not pair[0].startswith("-"))]


# As the API has it --------------------------------------------------------------------------------


def build_query_parameters(query: Query) -> dict[str, str]:
    """Write the conditions and the order as the API takes them; empty ones are left out."""
    filters = format_filters(query.filters)
    parameters = {
        "q": query.q,
        "filters": dump_json(filters) if filters else "",
        "geo": dump_json_as_sent(asdict(query.near)) if query.near else "",
        "sort": ",".join(map(format_sort_key, query.sort)),
    }
    return {name: value for name, value in parameters.items() if value}


def write_filters(conditions: Sequence[Condition]) -> Pair:
    return "filters", dump_json_as_sent(format_filters(conditions))


def format_filters(conditions: Sequence[Condition]) -> Mapping[str, Json]:
    """Write conditions as ``parse_filters`` reads them, but not the one of ``geo``."""
    members = [member for each in conditions if (member := _format_condition(each))]
    merged = {name: operand for each in members for name, operand in each.items()}
    return merged if len(merged) == len(members) else {"$and": members}


def _format_condition(condition: Condition) -> Mapping[str, Json]:
    match condition:
        case And():
            return {"$and": [_format_condition(each) for each in condition.conditions]}
        case Or():
            return {"$or": [_format_condition(each) for each in condition.conditions]}
        case In():
            values = list(condition.values)
            among_objects = any(isinstance(value, Mapping) for value in values)
            return {_escape_name(condition.field): {"in": values} if among_objects else values}
        case Comparison():
            return {_escape_name(condition.field): {condition.operator: condition.value}}
        case Near():
            return {}


def _escape_name(name: str) -> str:
    """Double the ``$`` at the start of a field's name: a single one starts a group's name."""
    return f"${name}" if name.startswith("$") else name


def describe_parameter_errors(error: InvalidParameter | InvalidParameters) -> list[str]:
    """Describe each error as the API does, but with the types of fields in words."""
    messages = []
    for each in error.errors if isinstance(error, InvalidParameters) else (error,):
        values = {**each.values}
        if "type" in values:
            values["type"] = label_type(values["type"])
        messages.append(render_message(each.message, values))
    return messages


# Conditions ---------------------------------------------------------------------------------------

#: The first operators of the form, with their names in addresses; others have their own.
_NAMES = {
    "eq": "field",
    "ne": "not",
    "contains": "contains",
    "ncontains": "without",
    "startswith": "starts",
    "gt": "above",
    "gte": "from",
    "lt": "below",
    "lte": "to",
    "isnull": "empty",
}

#: The operators of addresses, in the order of the form.
OPERATORS: Mapping[str, Operator] = {
    _NAMES.get(name, name): operators[name]
    for name in dict.fromkeys((*_NAMES, *operators))
    if operators[name].label
}

#: What the form offers in addition: another value of ``empty``, and ``from`` with ``to``.
NOT_EMPTY, BETWEEN = "filled", "between"

#: The values of ``empty``, and of any operator that takes true or false.
IS_EMPTY = {"yes": True, "no": False}

#: Between the values of a list in one input; no language has it in a number or a date.
VALUE_SEPARATOR = ";"

YES_OR_NO = {"true": gettext_lazy("yes"), "false": gettext_lazy("no")}


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """
    One condition of an address, with its values as they were typed.

    Exactly one of ``condition`` and ``error`` is not empty.
    """

    operator: str
    field: Field
    values: tuple[str, ...]
    condition: Condition | None = None
    error: str = ""

    @property
    def parameter(self) -> str:
        return f"{self.operator}.{self.field.name}"


def split_parameter(name: str) -> tuple[str, str] | None:
    """Split the name of a parameter into operator and field; None for another parameter."""
    operator, dot, field = name.partition(".")
    return (operator, field) if dot and operator in OPERATORS else None


def parse_field_condition(
    operator: str, field: Field, values: Sequence[str], parser: FiltersParser, fields: TypedFields
) -> FieldCondition:
    """
    Parse a condition as ``filters``, and compile it; its error is kept beside it.

    Several values of ``field`` are alternatives; of other operators, all must hold.
    """
    name, typed = _escape_name(field.name), tuple(values)
    if not all(map(is_storable, typed)):
        error = _("The text contains a character that cannot be stored.")
        return FieldCondition(operator, field, typed, error=error)
    error = _("This condition cannot be used with this field.")
    operands = [_read_operand(OPERATORS[operator], field, value) for value in typed]
    if None in operands:
        return FieldCondition(operator, field, typed, error=error)
    members = [{name: operand} for operand in operands]
    filters = {"$and": members} if len(members) > 1 else members[0]
    try:
        (condition,) = parser.parse({name: operands} if operator == "field" else filters)
        compile_conditions([condition], fields)
    except InvalidParameters as refused:
        if len(typed) > 1:  # the first value that is refused by itself
            alone = (
                parse_field_condition(operator, field, [value], FiltersParser(), fields).error
                for value in typed
            )
            error = next(filter(None, alone), describe_parameter_errors(refused)[0])
        elif isinstance(refused.errors[0], InvalidFilterValue):
            error = describe_type_error(field_types[field.type], typed[0])
        elif not isinstance(refused.errors[0], UnsupportedOperator):
            error = describe_parameter_errors(refused)[0]
        return FieldCondition(operator, field, typed, error=error)
    return FieldCondition(operator, field, typed, condition)


def _read_operand(operator: Operator, field: Field, text: str) -> Json:
    """
    Read a typed value as ``filters`` has it for a field; None where the type does not suit.

    Texts are compared ignoring case.  A timestamp up to a day is one before the next day.
    """
    kind, name = field_types[field.type], operator.name
    operand: Json = parse_typed_value(kind, text)
    suits = not operator.order or kind.ordered is not None
    match operator.operand:
        case Operand.BOOLEAN:
            operand = IS_EMPTY.get(text)
        case Operand.TEXT:
            name, operand = f"i{name}" if f"i{name}" in operators else name, text
        case Operand.LIST:
            parts = text.split(VALUE_SEPARATOR)
            operand = [parse_typed_value(kind, part.strip()) for part in parts]
    match name:
        case "eq" if kind.is_text and text.lower() != text.upper():
            name = "ieq"
        case "eq":  # without letters of two cases, the number may be among the stored counts
            return operand
        case "ne" if kind.is_text:
            name = "ine"
        case "contains" | "ncontains":
            suits = Operators.TEXT in kind.operators or kind.is_list
            ignoring_case = name.replace("contains", "icontains")
            name, operand = ignoring_case if Operators.TEXT in kind.operators else name, text
        case "lte" | "gt" if following := parse_end_of_day(kind, text):
            name, operand = {"lte": "lt", "gt": "gte"}[name], following
    # What an operator takes of the type, people must be able to type.
    return {name: operand} if operand is not None and suits else None


# The address --------------------------------------------------------------------------------------

MAX_Q_LENGTH = 1_000
MAX_SORT_KEYS = 10

#: Each value of an address, and each of its ``filters``, is a condition.
MAX_CONDITIONS = 40

#: Letters of a question in an address: every link of a page repeats it.
MAX_QUESTION_LENGTH = 2_000

#: The records of a page that may be chosen with ``limit``; the first if none is.
PAGE_SIZES = (25, 50, 100, 250)

#: The parameters of a condition that the form makes of inputs; the last one is the end of a range.
CHOSEN_FIELD, CHOSEN_OPERATOR, CHOSEN_VALUE, CHOSEN_END = CHOSEN = "field", "op", "value", "end"

#: The parameter of a page that stands in a frame of another one; its value is 1.
EMBED = "embed"

#: Parameters that say how the table shows the records, not which ones.
OF_TABLE = ("sort", "fields", "hide", "first", "columns", "limit", CHOSEN_VALUE, EMBED)

#: The inputs of ``geo``, and its fields.
NEAR, PLACE = ("latitude", "longitude", "kilometers"), "place"

_SINGLE = ("q", "filters", "geo", "limit", "columns", "find")
_KNOWN = {*_SINGLE, "sort", "fields", "hide", "first", "facet", EMBED}
_POSITION = re.compile(r"[1-9][0-9]{0,4}")
_SAME_IN_ALL_LANGUAGES = re.compile(r"-?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}|true|false")


class TooManyConditions(TooManyParameters):
    message = gettext_lazy(
        "A page has at most %(most)s conditions. Leave some out, or ask the API."
    )


@dataclass(frozen=True, slots=True)
class PageQuery:
    """
    A parsed address.

    ``search`` is what it asks of the records: its filters come from single parameters, which are
    the ``conditions``, and from the API's, which are the ``filters``.  ``fields`` are the
    chosen columns, if any; ``hidden`` are left out and ``first`` come first; ``facets`` are the
    fields whose facets are wanted, of which the first has values with the text ``find``.
    ``first_column`` counts columns from 1.  ``errors`` concern more than one condition.
    """

    query_string: QueryString
    search: Query
    conditions: tuple[FieldCondition, ...] = ()
    filters: tuple[Condition, ...] = ()
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
    def all_errors(self) -> list[str]:
        """All errors, also those beside what they are about; without any, the records are read."""
        of_conditions = [each.error for each in self.conditions if each.error]
        return [*self.errors, *self.q_errors, *of_conditions]

    @property
    def has_conditions(self) -> bool:
        return bool(self.search.q or self.conditions or self.filters)

    @property
    def has_chosen_columns(self) -> bool:
        return bool(self.fields or self.hidden or self.first)


def clean_parameters(sent: QueryDict) -> list[Pair]:
    """
    Write a query string in its shortest form, without empty and unknown parameters.

    Chosen fields, operators and values become parameters of conditions.
    """
    pairs = [
        (name, value)
        for name, values in sent.lists()
        for value in dict.fromkeys(values)
        if value and (name in _KNOWN or split_parameter(name))
        # A parameter changes something.
        if name != "limit" or value in map(str, PAGE_SIZES[1:])
        if name != EMBED or value == "1"
        if name != "columns" or (value != "1" and _POSITION.fullmatch(value))
    ]
    for field, operator, value, end in zip_longest(*map(sent.getlist, CHOSEN), fillvalue=""):
        ends = {operator or "field": value}
        if operator in ("empty", NOT_EMPTY):
            ends = {"empty": "yes" if operator == "empty" else "no"} if field else {}
        elif operator == BETWEEN:
            ends = {"from": value, "to": end}
        for name, text in ends.items():
            parameter = f"{name}.{field}"
            # A value without a field stays.
            chosen = (parameter if field and split_parameter(parameter) else CHOSEN_VALUE, text)
            pairs += [chosen] if text and chosen not in pairs else []
    page = sent.get("page", "")
    if page not in ("", "1"):
        pairs.append(("page", page))
    return pairs


def list_shared_parameters(query: PageQuery) -> list[Pair]:
    """
    List the parameters that ask for the same on a page in another language.

    Dates and numbers are written as the user's language does, but not in the API's ``filters``.
    """
    written = [
        each
        for each in query.conditions
        if not field_types[each.field.type].is_text
        if each.operator != "empty" and not all(map(_SAME_IN_ALL_LANGUAGES.fullmatch, each.values))
    ]
    others = query.query_string.remove("filters", *(each.parameter for each in written))
    filters = format_filters((*join_conditions(written), *query.filters))
    return [*others.pairs, *([("filters", dump_json_as_sent(filters))] if filters else [])]


class PageQueryParser:
    def __init__(self, pairs: Iterable[Pair], read: ConsistentRead) -> None:
        """Take clean parameters; the limits of their ``filters`` are those of the API."""
        self._query_string = QueryString(tuple(pairs)).remove("page")
        self._values: dict[str, list[str]] = {}
        for name, value in self._query_string.pairs:
            self._values.setdefault(name, []).append(value)
        self._fields = {field.name: field for field in read.resource.schema}
        self._typed_fields, self._filters = read.fields, FiltersParser()
        self._errors: list[str] = []

    def parse(self) -> PageQuery:
        """Parse the address; raise ``QueryStringTooLong`` or ``TooManyConditions``."""
        if len(self._query_string.query) > MAX_QUESTION_LENGTH:
            raise QueryStringTooLong(most=MAX_QUESTION_LENGTH)
        self._check_count(0)
        single = {name: self._values.get(name, [""])[0] for name in _SINGLE}
        if any(len(self._values.get(name, ())) > 1 for name in _SINGLE if name != "q"):
            self._errors.append(_("Give one value only."))
        q, *others = self._values.get("q", [""])
        q_errors = [_("Give one value only.")] if others else []
        if not is_storable(q):
            q_errors.append(_("The text contains a character that cannot be stored."))
        elif len(q) > MAX_Q_LENGTH:
            text = _("The search is longer than %(most)s characters.")
            q_errors.append(text % {"most": MAX_Q_LENGTH})
        elif has_too_many_words([q], plain=True):
            q_errors.append(str(TooManyWords(most=MAX_WORDS)))
        if self._values.get(CHOSEN_VALUE):
            self._errors.append(_("Choose the field in which to look for the value."))
        conditions = tuple(
            parse_field_condition(
                operator, self._fields[field], values, self._filters, self._typed_fields
            )
            for name, values in self._values.items()
            for operator, field in [split_parameter(name) or ("", "")]
            if operator and self._check_names([field])
        )
        filters, sort = self._parse_filters(single["filters"]), self._parse_sort()
        filters += self._parse_geo(single["geo"]) if single["geo"] else ()
        listed = [
            split_names(text, len(self._fields) + 1) for text in self._values.get("fields", ())
        ]
        names = dict.fromkeys(unquote_name(name) for names in listed for name in names)
        all_filters = (*join_conditions(conditions), *filters)
        return PageQuery(
            query_string=self._query_string,
            search=Query(limit=None, q=single["q"], filters=all_filters, sort=sort),
            conditions=conditions,
            filters=filters,
            fields=self._check_names(name for name in names if name != ID),  # always shown
            hidden=self._check_names(self._values.get("hide", [])),
            first=self._check_names(self._values.get("first", [])),
            facets=self._check_names(self._values.get("facet", [])),
            find=single["find"],
            size=int(single["limit"] or PAGE_SIZES[0]),
            first_column=int(single["columns"] or 1),
            q_errors=tuple(q_errors),
            errors=tuple(self._errors),
        )

    def _check_count(self, filter_count: int) -> None:
        own = sum(split_parameter(name) is not None for name, _value in self._query_string.pairs)
        if own + filter_count > MAX_CONDITIONS:
            raise TooManyConditions(most=MAX_CONDITIONS)

    def _parse_filters(self, text: str) -> tuple[Condition, ...]:
        if not text:
            return ()
        try:
            filters = parse_json(text)
        except MalformedJson:
            filters = None
        if not isinstance(filters, Mapping | list):
            self._errors.append(_("The parameter “filters” is not valid JSON."))
            return ()
        if not is_storable(filters):
            self._errors.append(_("The text contains a character that cannot be stored."))
            return ()
        try:
            conditions = self._filters.parse(filters) if filters else ()
            self._check_count(len(conditions))
            compile_conditions(conditions, self._typed_fields)
        except InvalidParameters as error:
            self._add_error(error)
            return ()
        return conditions

    def _parse_geo(self, text: str) -> tuple[Condition, ...]:
        try:
            conditions = build_query(ConditionParameters.parse({"geo": text})).filters
            compile_conditions(conditions, self._typed_fields)
        except ValidationError as error:
            self._errors += map(str, cast("dict[str, list[str]]", error.detail)["geo"])
        except InvalidParameters as error:
            self._add_error(error)
        else:
            return conditions
        return ()

    def _parse_sort(self) -> tuple[SortKey, ...]:
        keys: dict[str, SortKey] = {}
        for text in self._values.get("sort", []):
            for part in split_names(text, MAX_SORT_KEYS):
                try:
                    key = parse_sort_key(part)
                except InvalidSort as error:
                    self._add_error(error)
                    continue
                if key.field == ID or self._check_names([key.field], is_sorted=True):
                    keys.setdefault(key.field, key)
        return tuple(keys.values())

    def _check_names(self, names: Iterable[str], *, is_sorted: bool = False) -> tuple[str, ...]:
        """List the names of fields among some names, and add errors for the others."""
        known = []
        for name in names:
            field = self._fields.get(name)
            if field is None:
                self._add_error(UnknownField(field=name[:100]))
            elif is_sorted and not field_types[field.type].is_sortable:
                self._add_error(UnsortableField(field=name, type=field.type))
            else:
                known.append(name)
        return tuple(known)

    def _add_error(self, error: InvalidParameter | InvalidParameters) -> None:
        errors = describe_parameter_errors(error)
        self._errors += [each for each in errors if each not in self._errors]


def join_conditions(conditions: Iterable[FieldCondition]) -> Iterator[Condition]:
    """List conditions that must all hold: a field has one of its values, or is empty."""
    asked = {each.parameter: each.condition for each in conditions if each.condition is not None}
    for each in conditions:
        name = each.field.name
        value, empty = asked.get(f"field.{name}"), asked.get(f"empty.{name}")
        is_either = value and isinstance(empty, Comparison) and empty.value is True
        if value and empty and is_either and each.operator in ("field", "empty"):
            if each.operator == "field":
                yield Or((value, empty))
        elif each.condition is not None:
            yield each.condition

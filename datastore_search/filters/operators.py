"""
The operators of ``filters``: one table, from which grammar, SQL, pages and documents derive.

Equality is containment of a JSON document that holds field and value: an index answers it, and the
planner estimates it (``docs/decisions/0004``).

An operator may have an expression of DuckDB's, too, which is true of the same records.

Source: CKAN 2.12 for ``eq``, ``in``, ``lt``, ``lte``, ``gt`` and ``gte``; it has no others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import Enum
from functools import partial
from itertools import product
from operator import add
from typing import LiteralString, NamedTuple, cast

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _, pgettext_lazy
from psycopg import sql

from ..database.statements import FALSE, TRUE, Clause, compose, join_clauses
from ..field_types import (
    Cast,
    FieldType,
    Json,
    NotOfType,
    Operators,
    ValuesNotOfType,
    dump_json,
    field_types,
    parse_values,
)
from ..field_types.json_values import EXACT
from ..messages.search import InvalidFilterOperand, InvalidFilterValue
from ..messages.texts import shorten
from .names import ID
from .places import PlaceFields
from .words import WITHOUT_ACCENTS, build_pattern, compile_candidates, fold_case, remove_diacritics

#: Letters that a message repeats of a name or a value.
MAX_SHOWN_LENGTH = 100

#: Up to this many values, each is looked up in the index; above, the field is compared with all.
MAX_INDEXED_VALUES = 10

#: Of longer texts case counts: the search vector has no word of more than 2 kB.
_MAX_FOLDED_LENGTH = 500

#: A record that the index finds costs about ten times one that is read in the order of the table.
_MAX_CANDIDATES_SHARE = 0.1

#: The type of the key of records.
ID_TYPE = replace(field_types["int8"], name="int")
_MAX_ID = 2**63 - 1


class Operand(Enum):
    """What is sent with an operator: a value of the field's type, or something else."""

    VALUE = object
    LIST = list
    TEXT = str
    BOOLEAN = bool

    def takes(self, operand: object) -> bool:
        """Return whether the grammar takes an operand; of a text, the type of the field decides."""
        return self in {Operand.VALUE, Operand.TEXT} or isinstance(operand, self.value)


@dataclass(frozen=True, slots=True)
class TypedFields:
    """
    The fields that conditions may name.

    ``types`` maps their names to the names of their types, and ``cast`` reads texts as a type, in
    PostgreSQL.  Some records have no ``sparse`` fields; that is null.  ``estimate_share`` estimates
    the share of the records that match a pattern of the index of substrings; without that index it
    is None.  ``find_places`` finds the fields of places.  ``compiled`` are the conditions that were
    compiled for these fields, by their identity, so that a page compiles each once.
    """

    types: Mapping[str, str]
    cast: Cast
    sparse: frozenset[str] = frozenset()
    estimate_share: Callable[[str], float] | None = None
    find_places: Callable[[], PlaceFields | None] = lambda: None
    compiled: dict[int, tuple[object, Clause]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Comparing:
    """
    A field, or the key of the records, that is compared with an operand by an operator.

    What an operator compiles by these methods holds for both.
    """

    field: str
    kind: FieldType
    operator: str
    operand: Json
    fields: TypedFields

    @property
    def is_id(self) -> bool:
        return self.kind is ID_TYPE

    @property
    def text(self) -> Clause:
        if self.is_id:
            return Clause(sql.SQL("_id::text"))
        return Clause(sql.SQL("(data ->> %s)"), [self.field])

    def read_values(
        self, read: Callable[[Json], str | None], values: Sequence[Json], cast: Cast | None = None
    ) -> list[str | None]:
        """Read values as JSON texts of the type; None for a value that no record can have."""
        try:
            return parse_values(self.kind.name, read, values, cast or self.fields.cast)
        except ValuesNotOfType as error:
            try:
                text = dump_json(error.refused[0].value)
            except NotOfType:
                text = repr(error.refused[0].value)
            shown = shorten(text, MAX_SHOWN_LENGTH)
            raise InvalidFilterValue(field=self.field, type=self.kind.name, value=shown) from None

    def read_bound(self, bound: Json) -> str | None:
        """Read a bound; None for one with which no value is compared."""
        (text,) = self.read_values(self.kind.parse_bound, [bound])
        return None if text == "null" else text

    def compile_in(self, values: Sequence[Json]) -> Clause:
        """Compile that the field equals one of some values."""
        texts = self.read_values(self.kind.parse_operand, values)
        given = [text for text in texts if text is not None]
        if not self.is_id:
            return self._contain(given)
        numbers = [int(text) for text in given if text != "null"]
        return Clause(sql.SQL("_id = ANY(%s::bigint[])"), [numbers]) if numbers else FALSE

    def _contain(self, given: list[str]) -> Clause:
        name = self.field
        clauses: list[Clause] = []
        if len(given) > MAX_INDEXED_VALUES:
            clauses = [Clause(sql.SQL("data -> %s = ANY(%s::jsonb[])"), [name, given])]
        else:
            for text in given:
                clause = Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])
                if text[0] in "[{" and self.kind.is_nested:  # it also contains smaller ones
                    equal = Clause(sql.SQL("data -> %s = %s::jsonb"), [name, text])
                    clause = join_clauses([clause, equal], "AND")
                clauses.append(clause)
        if "null" in given and name in self.fields.sparse:
            clauses.append(Clause(sql.SQL("NOT data ? %s"), [name]))
        return join_clauses(clauses, "OR")

    def compile_empty(self) -> Clause:
        """Compile that the field has no value, which the key always has."""
        return FALSE if self.is_id else self._contain(["null"])

    def compile_order(self, order: LiteralString, bound: Json) -> Clause | None:
        """Compare with a bound by an operator of SQL; None for a type without an order."""
        if Operators.ORDER not in self.kind.operators:
            return None
        text = self.read_bound(bound)
        if text is None:
            return FALSE
        if not self.is_id:
            key = Clause(compile_field_key(self.kind), [self.field])
            value = Clause(compile_value_key(self.kind, sql.SQL("%s::jsonb")), [text])
            return compose("{} {} {}", key, Clause(sql.SQL(order)), value)
        # The nearest whole number, so that the key's index answers.
        exact = Decimal(text)
        if abs(exact) > _MAX_ID:
            return TRUE if (exact > 0) is order.startswith("<") else FALSE
        whole = math.ceil(exact) if order in {"<", ">="} else math.floor(exact)
        number = max(-_MAX_ID, min(_MAX_ID, whole))
        return Clause(sql.SQL("_id {} %s::bigint").format(sql.SQL(order)), [number])

    def require_text(self) -> str:
        """Return the operand, which must be a text.  Raises: ``InvalidFilterOperand``."""
        if not isinstance(self.operand, str):
            raise InvalidFilterOperand(field=self.field, operator=self.operator)
        return self.operand


class Folding(NamedTuple):
    """
    How PostgreSQL compares texts.

    ``letters`` are those that DuckDB may find otherwise where case is ignored; None where the case
    of a letter depends on those beside it.
    """

    is_by_code_point: bool
    letters: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class DuckDBField:
    """
    A field in DuckDB's SQL: its ``value``, of a ``type``, and its ``text`` as ``->>`` gives it.

    The type is VARCHAR where DuckDB's type of the field does not hold all values.  ``bind`` makes
    a parameter.
    """

    value: str
    text: str
    type: str
    bind: Callable[[object], str]
    read_folding: Callable[[], Folding]


#: Compiles a comparison for DuckDB: true or false, never null, so that it can be negated.  None
#: where DuckDB may find other records than PostgreSQL.
DuckDBCompiler = Callable[[Comparing, DuckDBField], str | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """
    One operator.

    ``compile`` compiles a comparison; None where the type of the field does not have the operator.
    ``compile_duckdb`` compiles it for DuckDB, where that finds the same records.

    ``words`` are those of a condition on a page, with ``%(field)s`` and ``%(value)s``; the values
    of a list are ``%(value1)s``, ``%(value2)s`` and so on, too.  ``label`` is between a field and a
    value in a form, which offers no operator without one.  ``words_if_false`` and
    ``label_if_false`` are those of the operand false.

    ``order`` is the operator of SQL of one that has a single bound: its range of keys is known
    before records are read.  Only the index of substrings answers an operator that
    ``counts_as_text``: a query may have few of these.  One that ``finds_others`` finds the records,
    also with empty cells, that another operator does not.
    """

    name: str
    help: str | Promise
    words: str | Promise
    compile: Callable[[Comparing], Clause | None]
    operand: Operand = Operand.VALUE
    order: LiteralString = ""
    counts_as_text: bool = False
    finds_others: bool = False
    label: str | Promise = ""
    words_if_false: str | Promise = ""
    label_if_false: str | Promise = ""
    compile_duckdb: DuckDBCompiler = lambda _asked, _field: None

    def is_negative(self, operand: object) -> bool:
        """Return whether it finds the records that another operator or operand does not."""
        return self.finds_others or bool(self.words_if_false and not operand)

    def choose_words(self, operand: object) -> str:
        return str(self.words_if_false if operand is False and self.words_if_false else self.words)


# Equality and order -------------------------------------------------------------------------------


def _negate(clause: Clause | None) -> Clause | None:
    return clause and compose("NOT {}", clause)


def _compile_equal_ignoring_case(asked: Comparing) -> Clause | None:
    """
    Compare a text field with a text, ignoring case.

    The index of equality finds the exact text, and the index of words finds other spellings.  Words
    after the first 100,000 letters of a record have no index: there, case counts.
    """
    if not asked.kind.is_text:
        return None
    value = asked.require_text()
    exact = asked.compile_in([value])
    if len(value) > _MAX_FOLDED_LENGTH or value.lower() == value.upper():
        return exact
    spelling: LiteralString = f"replace({fold_case(value, 'iIıİ')}, 'ß', 'ss')"
    is_found: LiteralString = (
        "search @@ plainto_tsquery('pg_catalog.simple', datastore_search_words(%s))"
    )
    sought = [value]
    if not value.isascii() and not {*"Iıİ"}.isdisjoint(value):
        # The vector has i for ı among the words without diacritics.
        is_found, sought = f"({is_found} OR {is_found})", [value, remove_diacritics(value)]
    operands = asked.text, Clause(sql.SQL("%s::text"), [value])
    equal = compose("({} = {}) IS TRUE", *(compose(spelling, each) for each in operands))
    folded = compose("({} AND {})", Clause(sql.SQL(is_found), sought), equal)
    return join_clauses([exact, folded], "OR")


def find_id_range(
    bounds: Iterable[tuple[str, Json]], fields: TypedFields
) -> tuple[int, int] | None:
    """
    Find the first and the last ``_id`` that operators with operands leave, which are compiled.

    None where one of them is not a bound.
    """
    first, last = -_MAX_ID, _MAX_ID
    for name, operand in bounds:
        order = operators[name].order
        if not order:
            return None
        text = Comparing(ID, ID_TYPE, name, operand, fields).read_bound(operand)
        if text is None:
            continue
        bound = Decimal(text)
        if order.startswith(">"):
            first = max(first, math.floor(bound) + 1 if order == ">" else math.ceil(bound))
        else:
            last = min(last, math.ceil(bound) - 1 if order == "<" else math.floor(bound))
    return min(first, _MAX_ID), max(last, -_MAX_ID)


def compile_field_key(kind: FieldType) -> sql.Composed:
    """Compile the key by which a field is sorted and compared; its name is the one parameter."""
    return sql.SQL(kind.sort_expression).format(
        v=sql.SQL("(data -> %s)"), t=sql.SQL("(data ->> %s)")
    )


def compile_value_key(kind: FieldType, value: sql.Composable) -> sql.Composed:
    """Compile the key by which a jsonb value is sorted and compared."""
    return sql.SQL(kind.sort_expression).format(v=value, t=sql.SQL("({} #>> '{{}}')").format(value))


# Parts --------------------------------------------------------------------------------------------

_HAS_PART: LiteralString = "strpos({}, {}) > 0"
_HAS_START: LiteralString = "starts_with({}, {})"

#: One letter with two spellings; of so many in a part, each is sought in both.
_SHARP_S = re.compile("ss|ß", re.IGNORECASE)
_MAX_SHARP_S = 3


def _compile_part(
    asked: Comparing, condition: LiteralString, spelling: LiteralString = "{0}"
) -> Clause | None:
    """Search for a part of a text by a condition; by the index where it finds few candidates."""
    if Operators.TEXT not in asked.kind.operators:
        return None
    part, fields = asked.require_text(), asked.fields
    operands = asked.text, Clause(sql.SQL("%s::text"), [part])
    exact = compose(condition, *(compose(spelling, each) for each in operands))
    # The index has the texts of fields, knows letters as they are, and finds what has a part.
    if not fields.estimate_share or asked.is_id or asked.operator[0] in "nu":
        return exact
    ignores_case = asked.operator[0] == "i"
    pattern = build_pattern(part, ignores_case=ignores_case)
    if not pattern or fields.estimate_share(pattern) > _MAX_CANDIDATES_SHARE:
        return exact
    candidates = compile_candidates(pattern, ignores_case=ignores_case)
    return join_clauses([exact, candidates], "AND")


def _spell_sharp_s(part: str) -> Iterator[str]:
    pieces = _SHARP_S.split(part, maxsplit=_MAX_SHARP_S)
    choices = product(("ss", "ß"), repeat=len(pieces) - 1)
    return ("".join(map(add, pieces, [*letters, ""])) for letters in choices)


def _compile_part_ignoring_case(asked: Comparing, condition: LiteralString) -> Clause | None:
    """Search for each spelling of a part, as the index knows each by itself."""
    if Operators.TEXT not in asked.kind.operators:
        return None
    parts = _spell_sharp_s(asked.require_text())
    clauses = (_compile_part(replace(asked, operand=p), condition, fold_case(p)) for p in parts)
    first, *others = (clause for clause in clauses if clause)
    if not others:
        return first
    # Only a text that is not ASCII has ß, and that is fast to see.
    has_others = compose("octet_length({}) > char_length({})", asked.text, asked.text)
    others = [has_others, join_clauses(others, "OR")]
    return join_clauses([first, join_clauses(others, "AND")], "OR")


def _compile_contains(asked: Comparing) -> Clause | None:
    """Search for an element of a list, for a part of a JSON value, or for a part of a text."""
    name, kind, value = asked.field, asked.kind, asked.operand
    if Operators.CONTAINS not in kind.operators:
        return _compile_part(asked, _HAS_PART)
    operand = value if kind.name == "json" or isinstance(value, list) else [value]
    if value is None and kind.name != "json":
        raise InvalidFilterOperand(field=name, operator="contains")
    (text,) = asked.read_values(
        kind.parse_operand, [operand], lambda _kind, texts: [None] * len(texts)
    )
    return Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])


# In DuckDB ----------------------------------------------------------------------------------------

_INTEGER_BITS = {"SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}


def _read_json_text(json_text: str) -> str:
    """Return the text of a canonical JSON value, as ``->>`` gives it."""
    if json_text.startswith('"'):
        return cast("str", json.loads(json_text))
    return format(Decimal(json_text), "f") if json_text[0] in "-0123456789" else json_text


def _fit_number(text: str, column: DuckDBField, order: str) -> Decimal | bool:
    """
    Round a number to the decimals of a column, so that a comparison finds the same values.

    True for one that is greater than all values of the column, false for one that is less.
    """
    number, scale, low = Decimal(text), 0, Decimal(-(2 ** (_INTEGER_BITS.get(column.type, 64) - 1)))
    high = -low
    if column.type not in _INTEGER_BITS:
        width, scale = map(int, column.type.removeprefix("DECIMAL(")[:-1].split(","))
        high = Decimal(10) ** (width - scale)
        low = -high + Decimal(1).scaleb(-scale)
    if not number.is_finite():
        return number.is_nan() or number > 0
    rounding = ROUND_CEILING if order in {"<", ">="} else ROUND_FLOOR
    rounded = number.quantize(Decimal(1).scaleb(-scale), rounding, EXACT)
    return rounded if low <= rounded < high else rounded > 0


def _equal_in_duckdb(asked: Comparing, column: DuckDBField) -> str | None:
    kind, is_typed = asked.kind, column.type != "VARCHAR"
    if kind.is_nested or (kind.is_number and not is_typed):
        return None
    values = cast("Sequence[Json]", asked.operand if asked.operator == "in" else [asked.operand])
    given = [each for each in asked.read_values(kind.parse_operand, values) if each is not None]
    marks = list[str]()
    for text in (_read_json_text(each) for each in given if each != "null"):
        if column.type.startswith("DECIMAL"):
            fitted = _fit_number(text, column, "<")
            if isinstance(fitted, bool) or fitted != Decimal(text):
                continue  # no value of the column has so many digits
        marks.append(f"try_cast({column.bind(text)} AS {column.type})")
    parts = [f"{column.value} IS NULL"] if "null" in given and not asked.is_id else []
    parts += [f"coalesce({column.value} IN ({', '.join(marks)}), false)"] if marks else []
    return f"({' OR '.join(parts)})" if parts else "false"


def _differ_in_duckdb(asked: Comparing, column: DuckDBField) -> str | None:
    equal = _equal_in_duckdb(asked, column)
    return equal and f"NOT {equal}"


def _order_in_duckdb(asked: Comparing, column: DuckDBField, order: str) -> str | None:
    kind, is_typed = asked.kind, column.type != "VARCHAR"
    if kind.is_text and not column.read_folding().is_by_code_point:
        return None
    if not (kind.is_text or kind.is_moment or (is_typed and (kind.is_number or kind.is_boolean))):
        return None
    text = asked.read_bound(asked.operand)
    if text is None:
        return "false"
    bound: Decimal | bool | str = _read_json_text(text)
    if kind.is_number and not kind.is_double:
        bound = _fit_number(str(bound), column, order)
    if isinstance(bound, bool):
        is_less = "true" if bound is order.startswith("<") else "false"
        return f"({column.value} IS NOT NULL AND {is_less})"
    compared = f"{column.value} {order} try_cast({column.bind(str(bound))} AS {column.type})"
    if not kind.is_moment:
        return f"coalesce({compared}, false)"
    # PostgreSQL compares the texts of moments; one may be no moment of DuckDB's.
    return f"coalesce({compared}, {column.text} {order} {column.bind(str(bound))}, false)"


def _match_in_duckdb(asked: Comparing, column: DuckDBField, function: str) -> str | None:
    """Search for a part of a text; ignoring case, where both fold its letters alike."""
    if Operators.TEXT not in asked.kind.operators or asked.operator[0] == "u":
        return None
    part = asked.require_text()
    if asked.operator.removeprefix("n")[0] != "i":
        return f"coalesce({function}({column.text}, {column.bind(part)}), false)"
    spelling, letters = fold_case(part), column.read_folding().letters
    parts = [*_spell_sharp_s(part)]
    if spelling == WITHOUT_ACCENTS or letters is None or not letters.isdisjoint("".join(parts)):
        return None
    marks = [spelling.replace("{0}", column.bind(each)) for each in parts]
    text = spelling.replace("{0}", column.text)
    return f"coalesce({' OR '.join(f'{function}({text}, {each})' for each in marks)}, false)"


# The table ----------------------------------------------------------------------------------------

_EQUAL, _DIFFERENT = _("%(field)s: %(value)s"), _("%(field)s is not %(value)s")
_CONTAINS = _("%(field)s contains “%(value)s”")
_LACKS = _("%(field)s does not contain “%(value)s”")
_BEGINS = _("%(field)s begins with “%(value)s”")
_SIGNS = {"<=": "≤", ">=": "≥"}
_DUCKDB_FUNCTIONS = {_HAS_PART: "contains", _HAS_START: "starts_with"}


def _build_order(
    name: str, about: str | Promise, order: LiteralString, label: str | Promise = ""
) -> Operator:
    """Build an operator of order; its sign is the same in every language."""
    words = f"%(field)s {_SIGNS.get(order, order)} %(value)s"
    return Operator(
        name,
        about,
        words,
        lambda asked: asked.compile_order(order, asked.operand),
        order=order,
        label=label,
        compile_duckdb=partial(_order_in_duckdb, order=order),
    )


def _build_match(
    name: str,
    about: str | Promise,
    words: str | Promise,
    condition: LiteralString,
    label: str | Promise = "",
) -> Operator:
    """Build an operator on parts of texts, compared as the first letter of its name says."""
    run = partial(_compile_part, condition=condition)
    if name.startswith("i"):
        run = partial(_compile_part_ignoring_case, condition=condition)
    elif name.startswith("u"):
        run = partial(_compile_part, condition=condition, spelling=WITHOUT_ACCENTS)
    return Operator(
        name,
        about,
        words,
        run,
        Operand.TEXT,
        counts_as_text=True,
        label=label,
        compile_duckdb=partial(_match_in_duckdb, function=_DUCKDB_FUNCTIONS[condition]),
    )


def _build_without(positive: Operator, about: str | Promise, label: str | Promise = "") -> Operator:
    """Build the operator that finds the records, also with empty cells, that another does not."""

    def compile_without(asked: Comparing) -> Clause | None:
        clause = positive.compile(asked)
        return clause and compose("({}) IS NOT TRUE", clause)

    def compile_duckdb(asked: Comparing, column: DuckDBField) -> str | None:
        condition = positive.compile_duckdb(asked, column)
        return condition and f"NOT ({condition})"

    return replace(
        positive,
        name=f"n{positive.name}",
        help=about,
        words=_LACKS,
        compile=compile_without,
        compile_duckdb=compile_duckdb,
        finds_others=True,
        label=label,
    )


_PART = Operator(
    "contains",
    _("Contains the text, or, in a list or JSON field, the value."),
    _CONTAINS,
    _compile_contains,
    counts_as_text=True,
    label=pgettext_lazy("operator", "contains"),
    compile_duckdb=partial(_match_in_duckdb, function="contains"),
)
_PART_IGNORING_CASE = _build_match(
    "icontains", _("Contains the text, ignoring case."), _CONTAINS, _HAS_PART
)

operators: Mapping[str, Operator] = {
    operator.name: operator
    for operator in (
        Operator(
            "eq",
            _("Equal; a list is the value of a list field."),
            _EQUAL,
            lambda asked: asked.compile_in([asked.operand]),
            label=pgettext_lazy("operator", "is"),
            compile_duckdb=_equal_in_duckdb,
        ),
        Operator(
            "ieq",
            _("Equal to the text, ignoring case; for text fields."),
            _EQUAL,
            _compile_equal_ignoring_case,
            Operand.TEXT,
        ),
        Operator(
            "in",
            _("Equal to one of the values."),
            _EQUAL,
            lambda asked: asked.compile_in(cast("Sequence[Json]", asked.operand)),
            Operand.LIST,
            compile_duckdb=_equal_in_duckdb,
        ),
        _build_order("lt", _("Less than."), "<", pgettext_lazy("operator", "less than, before")),
        _build_order(
            "lte", _("Less than or equal to."), "<=", pgettext_lazy("operator", "at most, until")
        ),
        _build_order("gt", _("Greater than."), ">", pgettext_lazy("operator", "more than, after")),
        _build_order(
            "gte", _("Greater than or equal to."), ">=", pgettext_lazy("operator", "at least, from")
        ),
        Operator(
            "ne",
            _("Not equal; finds empty cells too."),
            _DIFFERENT,
            lambda asked: _negate(asked.compile_in([asked.operand])),
            finds_others=True,
            label=pgettext_lazy("operator", "is not"),
            compile_duckdb=_differ_in_duckdb,
        ),
        Operator(
            "ine",
            _("Not equal to the text, ignoring case; finds empty cells too."),
            _DIFFERENT,
            lambda asked: _negate(_compile_equal_ignoring_case(asked)),
            Operand.TEXT,
            finds_others=True,
        ),
        _PART,
        _PART_IGNORING_CASE,
        _build_without(
            _PART,
            _("Does not contain the text or the value; finds empty cells too."),
            pgettext_lazy("operator", "does not contain"),
        ),
        _build_without(
            _PART_IGNORING_CASE,
            _("Does not contain the text, ignoring case; finds empty cells too."),
        ),
        _build_match(
            "ucontains",
            _("Contains the text, ignoring case and accents."),
            _("%(field)s contains “%(value)s” (ignoring accents)"),
            _HAS_PART,
        ),
        _build_match(
            "startswith",
            _("Begins with the text."),
            _BEGINS,
            _HAS_START,
            pgettext_lazy("operator", "begins with"),
        ),
        _build_match("istartswith", _("Begins with the text, ignoring case."), _BEGINS, _HAS_START),
        _build_match(
            "ustartswith",
            _("Begins with the text, ignoring case and accents."),
            _("%(field)s begins with “%(value)s” (ignoring accents)"),
            _HAS_START,
        ),
        Operator(
            "isnull",
            _("Whether the cell is empty."),
            _("%(field)s is empty"),
            lambda asked: (
                asked.compile_empty() if asked.operand else _negate(asked.compile_empty())
            ),
            Operand.BOOLEAN,
            label=pgettext_lazy("operator", "is empty"),
            words_if_false=_("%(field)s is not empty"),
            label_if_false=pgettext_lazy("operator", "is not empty"),
            compile_duckdb=lambda asked, column: (
                f"({column.value} IS {'' if asked.operand else 'NOT '}NULL)"
            ),
        ),
    )
}

TEXT_OPERATORS = tuple(each.name for each in operators.values() if each.counts_as_text)

#: Those that the index of substrings answers.
INDEXED_OPERATORS = tuple(name for name in TEXT_OPERATORS if name[0] not in "nu")

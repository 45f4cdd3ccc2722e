"""
The types of a tree, as PostgreSQL gives them, and what does not fit.

Numbers that are ``numeric`` in PostgreSQL are decimals in DuckDB, or integers of 128 bits.  A text
in quotes beside a value of another type is read as one, as PostgreSQL reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType as Kind
from sqlglot.optimizer.scope import Scope, traverse_scope

from ....field_types import field_types
from .errors import InvalidStatement
from .functions import (
    FAMILIES,
    INTEGERS,
    MOMENTS,
    NUMBERS,
    OPERATORS,
    VALUES,
    Function,
    find_function,
)
from .grammar import decode_name

#: Columns that are shown and counted: values that DuckDB has as texts.
OPAQUE = (Kind.OBJECT, Kind.BIGDECIMAL)

#: How a text in quotes, or of a column, is written to be read as a value.
_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r"\s*(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
PATTERNS: Mapping[Kind, str] = {
    **dict.fromkeys(INTEGERS, r"\s*[+-]?[0-9]{1,19}\s*"),
    Kind.DECIMAL: r"\s*[+-]?[0-9]{1,22}(?:\.[0-9]{0,16})?\s*",
    Kind.DOUBLE: r"\s*[+-]?[0-9]{1,300}(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?\s*",
    Kind.DATE: rf"\s*{_DAY}(?:[T ]{_CLOCK})?\s*",
    Kind.TIMESTAMP: rf"\s*{_DAY}(?:[T ]{_CLOCK})?\s*",
    Kind.TIMESTAMPTZ: rf"\s*{_DAY}(?:[T ]{_CLOCK}(?:{_ZONE})?)?\s*",
    Kind.TIME: rf"\s*{_CLOCK}\s*",
}
#: Decimals with as many digits as there can be.
_WIDE = "DECIMAL(38, 16)"

_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "on", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "off", "0"), False),
}


#: Types of columns by those of DuckDB; values of others can be shown alone.
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in VALUES} | {"INTEGER": Kind.INT}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """
    A column of a table: its name, its type in PostgreSQL, and how DuckDB has it.

    ``is_typed`` is false where its values are texts that DuckDB does not compute with;
    ``has_texts`` is true where its numbers are stored with other digits than DuckDB writes.
    """

    name: str
    type: str
    is_typed: bool = True
    has_texts: bool = False

    @property
    def kind(self) -> Kind:
        entry = field_types[self.type]
        kind = Kind.TEXT if entry.is_text else KINDS.get(entry.duckdb_type, Kind.OBJECT)
        if self.is_typed or kind is Kind.TEXT:
            return kind
        return Kind.BIGDECIMAL if kind in NUMBERS else Kind.OBJECT


def get_kind(node: exp.Expr | None) -> Kind:
    found = node.type.this if node is not None and node.type is not None else Kind.UNKNOWN
    return found if isinstance(found, Kind) else Kind.UNKNOWN


def get_stored(node: exp.Expr) -> TableColumn | None:
    """Return the column of a resource that a name stands for."""
    return node.meta.get("stored") if isinstance(node, exp.Column) else None


def has_texts(node: exp.Expr) -> bool:
    stored = get_stored(node)
    return stored is not None and stored.has_texts and stored.kind is Kind.DECIMAL


Tables = Mapping[str, Mapping[str, TableColumn]]


def annotate(tree: exp.Query, tables: Tables) -> None:
    """Give each node its type; columns name their tables.  Raises: ``InvalidStatement``."""
    seen: set[int] = set()
    for scope in traverse_scope(tree):
        # Other parts may name the items.
        items = scope.expression.selects if isinstance(scope.expression, exp.Query) else []
        for root in (*items, scope.expression):
            for node in reversed([*root.walk()]):
                if id(node) not in seen:
                    seen.add(id(node))
                    if isinstance(node, exp.Column) and not node.is_star:
                        node.type = _find_column(node, scope, tables)
                    else:
                        node.type = _decide(node)


def _find_column(column: exp.Column, scope: Scope | None, tables: Tables) -> Kind:
    while scope is not None:
        source = scope.sources.get(column.table)
        if isinstance(source, exp.Table):
            stored = column.meta["stored"] = tables[source.name][column.name]
            return stored.kind
        query = source.expression if isinstance(source, Scope) else scope.expression
        if isinstance(source, Scope) or not column.table:
            for item in getattr(query, "selects", ()):
                if item.alias_or_name == column.name:
                    return get_kind(item)
        scope = scope.parent
    raise InvalidStatement("column", word=decode_name(column.name))


def list_arguments(node: exp.Expr) -> list[exp.Expr]:
    """List what a function or operator takes, in order, without DISTINCT, ORDER BY and ANY."""
    listed: list[exp.Expr] = []
    for value in node.args.values():
        for each in value if isinstance(value, list) else [value]:
            item = each.this if isinstance(each, exp.Order) else each
            if isinstance(item, exp.Any | exp.All):
                item = item.this.unnest()
                listed += item.expressions if isinstance(item, exp.Array) else [item]
            elif isinstance(item, exp.Distinct):
                listed += item.expressions
            elif isinstance(item, exp.Expr) and not isinstance(item, exp.Star):
                listed.append(item)
    return listed


def _is_quoted(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def read_literal(text: str, kind: Kind) -> str | bool:
    """Read a text in quotes as PostgreSQL reads a value.  Raises: ``InvalidStatement``."""
    if kind is Kind.BOOLEAN and text.strip().lower() in _BOOLEANS:
        return _BOOLEANS[text.strip().lower()]
    plain = re.sub(rf"{_ZONE}\s*$", "", text) if kind in {Kind.TIMESTAMP, Kind.DATE} else text
    plain = text if re.fullmatch(rf"\s*{_DAY}\s*", text) else plain
    if kind not in PATTERNS or not re.fullmatch(PATTERNS[kind], plain, re.ASCII):
        raise InvalidStatement("types", word=text[:100])
    return plain.strip()


def _coerce(literal: exp.Expr, kind: Kind) -> None:
    """Let a text in quotes be a value of the type that stands beside it."""
    value = read_literal(literal.name, kind)
    made: exp.Expr = exp.Boolean(this=value)
    if isinstance(value, str):
        to = exp.DataType.build(_WIDE if kind is Kind.DECIMAL else kind)
        made = exp.Cast(this=exp.Literal.string(value), to=to)
    made.type = kind
    literal.replace(made)


def _merge(nodes: Iterable[exp.Expr], whole: exp.Expr, allowed: tuple[Kind, ...] = VALUES) -> Kind:
    """Find the type that holds all values; texts in quotes get it."""
    given = [*nodes]
    kinds = {get_kind(each) for each in given if not _is_quoted(each)} - {Kind.NULL}
    if not kinds:
        return Kind.TEXT if any(map(_is_quoted, given)) else Kind.NULL
    for order in (NUMBERS, MOMENTS, *((each,) for each in allowed)):
        if kinds <= {*order} & {*allowed}:
            found = max(kinds, key=order.index)
            if found is not Kind.TEXT:
                for each in filter(_is_quoted, given):
                    _coerce(each, found)
            return found
    _refuse(given, whole)
    return Kind.UNKNOWN


def _refuse(nodes: Iterable[exp.Expr], whole: exp.Expr) -> None:
    for each in nodes:
        if isinstance(each, exp.Column) and get_kind(each) in OPAQUE:
            raise InvalidStatement("shown", word=decode_name(each.name))
    word = decode_name(whole.sql("postgres", comments=False))[:100]
    raise InvalidStatement("types", word=word)


def _require(node: exp.Expr | None, kinds: tuple[Kind, ...], whole: exp.Expr) -> None:
    if node is not None and get_kind(node) not in (*kinds, Kind.NULL):
        _refuse([node], whole)


def _decide(node: exp.Expr) -> Kind:
    function = find_function(node) or OPERATORS.get(type(node))
    if function is not None:
        return _decide_function(node, function)
    rule = _RULES.get(type(node))
    return rule(node) if rule else Kind.UNKNOWN


def _decide_literal(node: exp.Expr) -> Kind:
    if node.args["is_string"]:
        return Kind.TEXT
    if not node.name.isdecimal():
        return Kind.DECIMAL
    # There is one negative number more.
    number = int(node.name) - isinstance(node.parent, exp.Neg)
    for size, kind in ((2**31, Kind.INT), (2**63, Kind.BIGINT), (10**38, Kind.DECIMAL)):
        if number < size:
            return kind
    raise InvalidStatement("types", word=node.name)


def _decide_query(node: exp.Expr) -> Kind:
    """Decide the type of the first column, which a query in place of a value has."""
    if isinstance(node, exp.SetOperation):
        for one, two in zip(node.left.selects, node.right.selects, strict=False):
            kind = _merge([one.unalias(), two.unalias()], node)
            one.type = two.type = kind
            _require(one, VALUES, node)
    elif isinstance(node, exp.Select) and node.args.get("distinct"):
        for item in node.selects:
            _require(item, VALUES, item)
    selects = node.selects if isinstance(node, exp.Query) else []
    return get_kind(selects[0]) if selects else Kind.UNKNOWN


def _decide_listed(node: exp.Expr) -> Kind:
    """Check that what is grouped, ordered or listed has an order."""
    on = node.args.get("on")
    listed = on.expressions if on is not None else node.expressions or [node.this]
    for each in listed:
        if not isinstance(each, exp.Ordered | exp.Order | exp.Tuple):
            _require(each, VALUES, each)
    return get_kind(listed[0]) if listed else Kind.UNKNOWN


def _decide_case(node: exp.Expr) -> Kind:
    subject, branches = node.this, node.args["ifs"]
    for branch in branches if subject is None else ():
        _require(branch.this, (Kind.BOOLEAN,), node)
    if subject is not None:
        _merge([subject, *(branch.this for branch in branches)], node)
    values = [branch.args["true"] for branch in branches]
    default = node.args.get("default")
    return _merge([*values, *([default] if default is not None else [])], node)


def _decide_is(node: exp.Expr) -> Kind:
    if isinstance(node.expression, exp.Boolean):
        _require(node.this, (Kind.BOOLEAN,), node)
    return Kind.BOOLEAN


def _decide_arithmetic(node: exp.Expr) -> Kind:
    left, right = get_kind(node.this), get_kind(node.expression)
    found = _MOMENT_ARITHMETIC.get((type(node), left, right))
    if found is not None:
        return found
    if _is_quoted(node.this) or _is_quoted(node.expression):
        _refuse([], node)
    return _merge([node.this, node.expression], node, NUMBERS)


def _decide_concatenation(node: exp.Expr) -> Kind:
    kinds = {get_kind(node.this), get_kind(node.expression)}
    if Kind.TEXT not in kinds or not kinds <= {*VALUES, Kind.NULL}:
        _refuse([node.this, node.expression], node)
    return Kind.TEXT


def _decide_cast(node: exp.Expr) -> Kind:
    to: exp.DataType = node.args["to"]
    kind = Kind.TEXT if to.this is Kind.VARCHAR else to.this
    if kind not in _CASTS or (to.expressions and to.this not in {Kind.VARCHAR, Kind.DECIMAL}):
        raise InvalidStatement("unsupported", word=to.sql("postgres").lower())
    if _is_quoted(node.this) and kind is not Kind.TEXT:
        value = read_literal(node.this.name, kind)
        node.set("this", exp.Literal.string(value if isinstance(value, str) else str(value)))
    elif get_kind(node.this) not in (*_CASTS[kind], Kind.NULL):
        _refuse([node.this], node)
    return kind


def _decide_interval(node: exp.Expr) -> Kind:
    unit = node.args.get("unit")
    names = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    number = node.this.name if isinstance(node.this, exp.Literal) else ""
    if (
        unit is None
        or unit.name.upper().rstrip("S") not in names
        or not re.fullmatch(r"-?[0-9]{1,6}", number)
    ):
        raise InvalidStatement("unsupported", word=f"INTERVAL {number}".strip())
    return Kind.INTERVAL


def _decide_zone(node: exp.Expr) -> Kind:
    zone, kind = node.args["zone"], get_kind(node.this)
    if not _is_quoted(zone) or not re.fullmatch(
        r"UTC|[A-Z][A-Za-z]+(/[A-Za-z_-]+){1,2}", zone.name
    ):
        raise InvalidStatement("unsupported", word="AT TIME ZONE")
    if kind not in {Kind.TIMESTAMP, Kind.TIMESTAMPTZ}:
        _refuse([node.this], node)
    return Kind.TIMESTAMPTZ if kind is Kind.TIMESTAMP else Kind.TIMESTAMP


def _decide_within(node: exp.Expr) -> Kind:
    ordered, *others = node.expression.expressions
    if others or not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc | exp.Mode):
        _refuse([], node)
    if isinstance(node.this, exp.PercentileCont):
        _require(ordered.this, NUMBERS, node)
        return Kind.DOUBLE
    return get_kind(ordered.this)


def _decide_join(node: exp.Expr) -> Kind:
    _require(node.args.get("on"), (Kind.BOOLEAN,), node)
    return Kind.UNKNOWN


_MOMENT_ARITHMETIC: Mapping[tuple[type[exp.Expr], Kind, Kind], Kind] = {
    **{
        (operator, kind, Kind.INTERVAL): max(kind, Kind.TIMESTAMP, key=MOMENTS.index)
        for operator in (exp.Add, exp.Sub)
        for kind in MOMENTS
    },
    **{(operator, Kind.DATE, Kind.INT): Kind.DATE for operator in (exp.Add, exp.Sub)},
    (exp.Sub, Kind.DATE, Kind.DATE): Kind.INT,
    (exp.Sub, Kind.TIMESTAMP, Kind.TIMESTAMP): Kind.INTERVAL,
    (exp.Sub, Kind.TIMESTAMPTZ, Kind.TIMESTAMPTZ): Kind.INTERVAL,
}

#: The types of casts, and what each is made of.
_CASTS: Mapping[Kind, tuple[Kind, ...]] = {
    **dict.fromkeys(INTEGERS, (*NUMBERS, Kind.TEXT)),
    Kind.INT: (*NUMBERS, Kind.TEXT, Kind.BOOLEAN),
    Kind.DECIMAL: (*NUMBERS, Kind.TEXT),
    Kind.DOUBLE: (*NUMBERS, Kind.TEXT),
    Kind.TEXT: VALUES,
    Kind.BOOLEAN: (Kind.BOOLEAN, Kind.INT),
    **dict.fromkeys(MOMENTS, (*MOMENTS, Kind.TEXT)),
    Kind.TIME: (Kind.TIME, Kind.TEXT, Kind.TIMESTAMP),
}

_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr], Kind]] = {
    exp.Literal: _decide_literal,
    **dict.fromkeys((exp.ByteString, exp.RawString), lambda _node: Kind.TEXT),
    exp.Null: lambda _node: Kind.NULL,
    **dict.fromkeys((exp.Boolean, exp.Exists, exp.Escape), lambda _node: Kind.BOOLEAN),
    **dict.fromkeys(
        (exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.Subquery),
        lambda node: get_kind(node.this),
    ),
    **dict.fromkeys((exp.Collate, exp.Ordered, exp.Distinct, exp.Order, exp.Group), _decide_listed),
    **dict.fromkeys((exp.Select, exp.Union, exp.Intersect, exp.Except), _decide_query),
    exp.Case: _decide_case,
    exp.Is: _decide_is,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _decide_arithmetic),
    exp.DPipe: _decide_concatenation,
    exp.Cast: _decide_cast,
    exp.Interval: _decide_interval,
    exp.AtTimeZone: _decide_zone,
    exp.WithinGroup: _decide_within,
    exp.Tuple: lambda _node: Kind.STRUCT,
    exp.Join: _decide_join,
}


# Functions ----------------------------------------------------------------------------------------


def _decide_function(node: exp.Expr, function: Function) -> Kind:
    arguments, families = list_arguments(node), function.families
    needed, _, further = families.rstrip("*").partition("?")
    is_open = families.endswith("*")
    most = len(arguments) if is_open else len(needed + further)
    is_empty_count = isinstance(node, exp.Count) and node.this is None
    if not len(needed) <= len(arguments) <= most or is_empty_count:
        _refuse([], node)
    families = needed + further
    for each, family in zip(arguments, families + families[-1:] * len(arguments), strict=False):
        if not _is_fit(each, family, node, function):
            _refuse([each], node)
    if function.result in {"=", "compare"}:
        merged = _merge(arguments, node, FAMILIES.get(families[:1], VALUES))
        if isinstance(node, exp.Nullif) and merged in (*INTEGERS, *MOMENTS):
            return get_kind(node.this)  # PostgreSQL compares these without a cast
        return merged if function.result == "=" else Kind.BOOLEAN
    if isinstance(function.result, Kind):
        return function.result
    return _RESULTS[function.result](node, [*map(get_kind, arguments)] or [Kind.UNKNOWN])


def _is_fit(each: exp.Expr, family: str, node: exp.Expr, function: Function) -> bool:
    kind = get_kind(each)
    if family == "l":
        literal = each.this if isinstance(each, exp.Neg) else each
        return isinstance(literal, exp.Literal | exp.Var)
    if family == "a":
        return kind is not Kind.UNKNOWN and (kind not in OPAQUE or isinstance(node, exp.Count))
    is_quoted = _is_quoted(each) and family != "t"
    return function.result == "=" or (kind in (*FAMILIES[family], Kind.NULL) and not is_quoted)


def _decide_computed(node: exp.Expr, kinds: Sequence[Kind]) -> Kind:
    is_exact = Kind.DECIMAL in kinds or (isinstance(node, exp.Log) and len(kinds) > 1)
    return Kind.DECIMAL if is_exact and Kind.DOUBLE not in kinds else Kind.DOUBLE


def _decide_rounded(node: exp.Expr, kinds: Sequence[Kind]) -> Kind:
    if len(kinds) > 1 and kinds[0] is Kind.DOUBLE:
        _refuse([], node)
    return Kind.DECIMAL if len(kinds) > 1 or kinds[0] is Kind.DECIMAL else Kind.DOUBLE


def _decide_default(node: exp.Expr, kinds: Sequence[Kind]) -> Kind:
    """Refuse a default of a wider type, which PostgreSQL gives to all values."""
    value, *others = list_arguments(node)
    if others[1:] and _merge([value, others[1]], node) is not kinds[0]:
        _refuse([], node)
    return kinds[0]


_SUMS = {Kind.SMALLINT: Kind.BIGINT, Kind.INT: Kind.BIGINT, Kind.BIGINT: Kind.DECIMAL}

_RESULTS: Mapping[str, Callable[[exp.Expr, Sequence[Kind]], Kind]] = {
    "0": lambda _node, kinds: kinds[0],
    "lag": _decide_default,
    "n": _decide_computed,
    "sum": lambda _node, kinds: _SUMS.get(kinds[0], kinds[0]),
    "avg": lambda _node, kinds: Kind.DOUBLE if kinds[0] is Kind.DOUBLE else Kind.DECIMAL,
    "round": _decide_rounded,
    "trunc": lambda _node, kinds: Kind.TIMESTAMPTZ if kinds[0] is Kind.DATE else kinds[0],
}

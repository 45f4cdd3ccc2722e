"""
What DuckDB computes otherwise than PostgreSQL, written so that both find the same.

A tree has its types.  A number that PostgreSQL computes as ``numeric`` with as many digits as it
needs (a quotient, an average, a root) has 15 significant digits here, and at most 16 decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp
from sqlglot.expressions import DType as Kind

from .errors import InvalidStatement
from .functions import INTEGERS, MOMENTS, find_function, get_key
from .types import PATTERNS, get_kind, get_stored, has_texts, list_arguments

#: The column with the texts of a number that is stored with other digits than DuckDB writes.
TEXTS_OF = "^#"

_MAX_DIGITS, _MAX_DECIMALS, _MAX_EXPONENT = 38, 16, 15


def rewrite(tree: exp.Query) -> exp.Query:
    """Write a tree anew for DuckDB.  Raises: ``InvalidStatement``."""
    for node in reversed([*tree.walk()]):
        rule = _RULES.get(get_key(node))
        made = rule(node) if rule else node
        if made is not node:
            made.type = made.type or node.type
            node.replace(made)
    for node in [*tree.find_all(*_OPERATORS)]:
        for name in ("this", "expression", "low", "high"):
            child = node.args.get(name)
            is_chain = (
                type(child) is type(node) and name == "this" and isinstance(node, exp.Connector)
            )
            is_escape = isinstance(node, exp.Escape) or isinstance(child, exp.Escape)
            if isinstance(child, _OPERATORS) and not is_chain and not is_escape:
                node.set(name, exp.Paren(this=child))
    return tree


#: Whose operands are put into parentheses, because precedence differs.
_OPERATORS = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In, exp.AtTimeZone)


def _call(name: str, *arguments: exp.Expr | None) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[each for each in arguments if each is not None])


_text = exp.Literal.string


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))


def _double(value: exp.Expr) -> exp.Expr:
    return value if get_kind(value) is Kind.DOUBLE else _cast(value, "DOUBLE")


def _numeric(double: exp.Expr) -> exp.Expr:
    """Cast a double as PostgreSQL casts it to ``numeric``: 15 digits."""
    return _cast(_call("format", _text("{:.15g}"), double), "DECIMAL(38, 16)")


def _unless(test: exp.Condition, value: exp.Expr) -> exp.Expr:
    """Fail where a test is not met; a test that is null is met."""
    return exp.case().when(test.not_(), _call("error", _text("unfit"))).else_(value)


# Numbers ------------------------------------------------------------------------------------------


def _rewrite_literal(node: exp.Expr) -> exp.Expr:
    """PostgreSQL's 1e3 is a decimal."""
    if node.args["is_string"] or "e" not in node.name.lower():
        return node
    number = Decimal(node.name)
    if abs(number.adjusted()) > _MAX_EXPONENT:
        raise InvalidStatement("types", word=node.name)
    return exp.Literal.number(format(number, "f"))


def _rewrite_division(node: exp.Expr) -> exp.Expr:
    if get_kind(node) in INTEGERS:
        return exp.IntDiv(this=node.this, expression=node.expression)
    quotient = exp.Div(this=_double(node.this), expression=_double(node.expression))
    return _numeric(quotient) if get_kind(node) is Kind.DECIMAL else _check_finite(quotient)


def _has_many_decimals(node: exp.Expr) -> bool:
    """Return whether a number may have as many decimals as there can be."""
    if get_kind(node) is not Kind.DECIMAL:
        return False
    return any(
        each.name == "format"
        if isinstance(each, exp.Anonymous)
        else get_kind(each) is Kind.DECIMAL and not get_stored(each)
        for each in node.find_all(exp.Anonymous, exp.Column)
    )


def _rewrite_product(node: exp.Expr) -> exp.Expr:
    """Decimals of two numbers with many decimals would be too many; doubles may be too large."""
    if get_kind(node) is Kind.DOUBLE:
        return _check_finite(exp.Mul(this=node.this, expression=node.expression))
    sides = (node.this, node.expression)
    if get_kind(node) is Kind.DECIMAL and all(map(_has_many_decimals, sides)):
        return _numeric(exp.Mul(this=_double(sides[0]), expression=_double(sides[1])))
    return node


def _rewrite_aggregates(node: exp.Expr) -> exp.Expr:
    """Give an aggregate, with its FILTER and its window, PostgreSQL's type."""
    inner = node
    while isinstance(inner, exp.Filter | exp.Window | exp.WithinGroup):
        inner = inner.this
    if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        return node
    function = find_function(inner)
    if isinstance(inner, exp.Sum) and get_kind(inner) is Kind.BIGINT:
        return _cast(node.copy(), "BIGINT")
    if function is not None and function.result == "avg" and get_kind(inner) is Kind.DECIMAL:
        return _numeric(node.copy())
    if get_key(inner) in {exp.Corr, "regr_slope"}:
        # Of values that are all the same PostgreSQL finds none.
        return _call("nullif", node.copy(), _double(_text("NaN")))
    return node


def _check_finite(number: exp.Expr) -> exp.Expr:
    """Fail where a double has no value, or too large a one."""
    return _unless(_call("isfinite", number.copy()), number)


def _rewrite_doubles(node: exp.Expr) -> exp.Expr:
    """Compute roots and logarithms with doubles."""
    function = find_function(node)
    name = function.name if function else ""
    found = _call("power" if name == "?column?" else name, *map(_double, list_arguments(node)))
    return _numeric(found) if get_kind(node) is Kind.DECIMAL else _check_finite(found)


def _rewrite_ceil(node: exp.Expr) -> exp.Expr:
    """Let whole numbers of doubles be doubles."""
    value = list_arguments(node)[0]
    if get_kind(value) is not Kind.DECIMAL:
        value.replace(_double(value.copy()))
    return node


def _read_integer(node: exp.Expr, function: str, least: int = 0) -> int:
    """Read a number that must be written as one."""
    text = node.sql()
    if not re.fullmatch("-?[0-9]{1,9}", text) or int(text) < least:
        raise InvalidStatement("types", word=function)
    return int(text)


def _rewrite_rounding(node: exp.Expr) -> exp.Expr:
    """Round a double half to even, and a decimal away from zero."""
    decimals, value = node.args.get("decimals"), node.this
    name = "round" if isinstance(node, exp.Round) else "trunc"
    if decimals is not None:
        places = _read_integer(decimals, name)
        if places > _MAX_DECIMALS:
            raise InvalidStatement("types", word=name)
        if get_kind(value) not in INTEGERS:
            value = _call(name, value, decimals)
        return _cast(value, f"DECIMAL(38, {places})")
    if get_kind(node) is Kind.DECIMAL:
        return _call(name, value)
    if name == "trunc":
        return _call(name, _double(value))
    return _call("round_even", _double(value), exp.Literal.number(0))


# Texts --------------------------------------------------------------------------------------------


def _write_value(node: exp.Expr) -> exp.Expr:
    """Write a value as PostgreSQL's text."""
    kind = get_kind(node)
    if kind is Kind.DOUBLE:
        size = _call("abs", node.copy())
        plain = exp.or_(size.eq(0), size.between(0.0001, 10**15 - 1))
        text = _call("regexp_replace", _cast(node.copy(), "VARCHAR"), _text("[.]0$"), _text(""))
        return _unless(plain, text)
    if kind is Kind.DECIMAL and not isinstance(node, exp.Literal):
        inner = node.this if isinstance(node, exp.Paren) else node
        if isinstance(inner, exp.Column) and has_texts(inner):
            return name_texts(inner)
        is_sized = isinstance(inner, exp.Cast) and inner.this.name != "format"
        if not (is_sized or get_stored(inner)):
            raise InvalidStatement("types", word="numeric")
    return node if kind is Kind.TEXT else _cast(node.copy(), "VARCHAR")


def name_texts(column: exp.Column) -> exp.Expr:
    name = exp.to_identifier(f"{TEXTS_OF}{column.name}", quoted=True)
    return exp.Column(this=name, table=column.args["table"].copy())


def _rewrite_concat(node: exp.Expr) -> exp.Expr:
    """PostgreSQL joins what a type writes, which is “t” for a boolean."""
    for each in node.expressions:
        if get_kind(each) is Kind.BOOLEAN:
            raise InvalidStatement("types", word="boolean")
    name = "concat_ws" if isinstance(node, exp.ConcatWs) else "concat"
    return _call(name, *map(_write_value, node.expressions))


def _rewrite_like(node: exp.Expr) -> exp.Expr:
    """PostgreSQL's pattern has a backslash as its escape."""
    pattern = node.expression
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if is_plain or isinstance(node.parent, exp.Escape):
        return node
    return exp.Escape(this=node.copy(), expression=_text("\\"))


def _rewrite_regex(node: exp.Expr) -> exp.Expr:
    text = node.expression.name
    is_plain = isinstance(node.expression, exp.Literal) and _PLAIN_PATTERN.fullmatch(text)
    if not is_plain or any(int(each) > _MAX_REPEATS for each in re.findall(r"[{,]([0-9]+)", text)):
        raise InvalidStatement("unsupported", word=f"~ '{text}'")
    written = text.replace("\\w", "[\\p{L}\\p{N}_]").replace("\\d", "[0-9]")
    options = "s" if isinstance(node, exp.RegexpLike) else "si"
    return _call("regexp_matches", node.this, _text(written), _text(options))


def _rewrite_upper(node: exp.Expr) -> exp.Expr:
    """PostgreSQL leaves a few letters as they are."""
    for_letters = [_text("ßƛɤ"), _text("\ue000\ue001\ue002")]
    inner = _call("translate", node.this, *for_letters)
    return _call("translate", _call("upper", inner), *reversed(for_letters))


def _rewrite_substring(node: exp.Expr) -> exp.Expr:
    """Count from a start before the first letter, as PostgreSQL does."""
    text, first, *rest = list_arguments(node)
    start = _read_integer(first, "substring", -(10**9))
    lengths = [_read_integer(each, "substring") + min(start, 1) - 1 for each in rest]
    shown = [max(start, 1), *(max(0, each) for each in lengths)]
    return _call("substring", text, *map(exp.Literal.number, shown))


def _rewrite_parts(node: exp.Expr) -> exp.Expr:
    text, delimiter, index = list_arguments(node)[:3]
    if not (delimiter.name and _read_integer(index, "split_part", -(10**9))):
        raise InvalidStatement("types", word="split_part")
    return _call("split_part", text, delimiter, index)


def _rewrite_replace(node: exp.Expr) -> exp.Expr:
    found = node.expression
    if not (isinstance(found, exp.Literal) and found.name and node.args.get("replacement")):
        raise InvalidStatement("types", word="replace")
    return node


def _rewrite_agg(node: exp.Expr) -> exp.Expr:
    """Give the values of a DISTINCT aggregate in their order."""
    inner = node.this
    if isinstance(inner, exp.Distinct):
        value = inner.expressions[0]
        ordered = exp.Ordered(this=value.copy(), nulls_first=False)
        node.set("this", exp.Order(this=inner.copy(), expressions=[ordered]))
    return node


# Casts --------------------------------------------------------------------------------------------


def _rewrite_cast(node: exp.Expr) -> exp.Expr:
    value, to = node.this, node.args["to"]
    kind, of = get_kind(node), get_kind(value)
    if kind is Kind.TEXT:
        text = _write_value(value)
        sizes = [each.this for each in to.expressions]
        if any(not int(each.name) for each in sizes):
            raise InvalidStatement("unsupported", word="varchar(0)")
        return _call("left", text, *sizes) if sizes else text
    if of is Kind.TEXT and not isinstance(value, exp.Literal):
        pattern = PATTERNS.get(kind)
        if pattern is None:
            raise InvalidStatement("types", word=f"::{to.sql('postgres').lower()}")
        test = _call("regexp_full_match", value.copy(), _text(pattern))
        value = _unless(test, _call("trim", value.copy()))
        value.type = Kind.TEXT
    if kind is Kind.DECIMAL:
        if of in {Kind.DOUBLE, Kind.TEXT}:
            value = _numeric(value) if of is Kind.DOUBLE else _cast(value, "DECIMAL(38, 16)")
        elif not to.expressions:
            return _cast(value, "DECIMAL(38, 0)") if of in INTEGERS else value
        return exp.Cast(this=value, to=_size_decimal(to)) if to.expressions else value
    if kind in INTEGERS and of is Kind.DOUBLE:
        value = _call("round_even", value, exp.Literal.number(0))
    return exp.Cast(this=value, to=to)


def _size_decimal(to: exp.DataType) -> exp.DataType:
    digits, decimals = [*(int(each.name) for each in to.expressions), 0][:2]
    if not 0 < digits <= _MAX_DIGITS or not 0 <= decimals <= digits:
        raise InvalidStatement("unsupported", word=to.sql("postgres").lower())
    return exp.DataType.build(f"DECIMAL({digits}, {decimals})")


# Days and moments ---------------------------------------------------------------------------------

#: Parts of a moment, and of a time and an interval.
_PARTS: Mapping[str, Sequence[Kind]] = {
    **dict.fromkeys(("year", "month", "day", "dow", "doy", "isodow"), MOMENTS),
    **dict.fromkeys(("week", "quarter", "isoyear", "epoch"), MOMENTS),
    **dict.fromkeys(("hour", "minute", "second"), (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME)),
}
_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def _rewrite_extract(node: exp.Expr) -> exp.Expr:
    name, value = list_arguments(node)
    part, kind = name.name.lower(), get_kind(value)
    is_epoch = part == "epoch" and kind in {*MOMENTS, Kind.INTERVAL}
    if not is_epoch and kind not in _PARTS.get(part, ()):
        raise InvalidStatement("types", word=f"extract({part} …)")
    moment = _cast(value, "TIMESTAMP") if kind is Kind.DATE else value
    if part in {"epoch", "second"}:
        whole = _call("epoch_us" if is_epoch else "microsecond", moment)
        found: exp.Expr = exp.Mul(
            this=_cast(whole, "DECIMAL(26, 0)"),
            expression=_cast(exp.Literal.number("0.000001"), "DECIMAL(7, 6)"),
        )
    else:
        found = _call("date_part", _text(part), moment)
    return _cast(found, "DOUBLE") if isinstance(node, exp.Anonymous) else found


def _rewrite_trunc(node: exp.Expr) -> exp.Expr:
    """Cut a moment; a day becomes one with a zone."""
    unit = node.args["unit"].name.lower()
    if unit not in _UNITS or node.args.get("zone"):
        raise InvalidStatement("types", word="date_trunc")
    value = node.this
    if get_kind(value) is Kind.DATE:
        value = _cast(value, "TIMESTAMPTZ")
    return _call("date_trunc", _text(unit), value)


#: The formats of PostgreSQL's ``to_char`` that DuckDB's ``strftime`` has, too.
_FORMATS = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I",
    "MI": "%M", "SS": "%S", "MS": "%g", "US": "%f", "DDD": "%j", "Mon": "%b", "Dy": "%a",
    "AM": "%p", "PM": "%p", "IYYY": "%G", "IW": "%V", "ID": "%u", "FMMonth": "%B", "FMDay": "%A",
    "FMMM": "%-m", "FMDD": "%-d", "FMHH24": "%-H",
}  # fmt: skip
#: Of these alone the case of the letters is that of what is written.
_CASED = {"AM", "PM"}
_FORMATS |= {
    part.lower(): code for part, code in _FORMATS.items() if part.isupper() and part not in _CASED
}
_FORMAT = re.compile(  # longer ones of PostgreSQL's begin with these
    "(?!SSSS|ssss|IDDD|iddd)(?:"
    + "|".join(sorted(map(re.escape, _FORMATS), key=len, reverse=True))
    + ')|"[^"]*"|[^A-Za-z"%]'
)


def _rewrite_to_char(node: exp.Expr) -> exp.Expr:
    value, given = node.expressions
    text, parts, end = given.name, [], 0
    while end < len(text):
        match = _FORMAT.match(text, end)
        if match is None:
            raise InvalidStatement("unsupported", word=text)
        parts.append(_FORMATS.get(match[0]) or match[0].strip('"').replace("%", "%%"))
        end = match.end()
    return _call("strftime", value, _text("".join(parts)))


def _rewrite_percentile(node: exp.Expr) -> exp.Expr:
    ordered = node.expression.expressions[0]
    if isinstance(node.this, exp.PercentileCont):
        ordered.set("this", _double(ordered.this))
    elif isinstance(node.this, exp.Mode):
        return _call("mode", exp.Order(this=ordered.this.copy(), expressions=[ordered]))
    return node


def _rewrite_nth(node: exp.Expr) -> exp.Expr:
    _read_integer(list_arguments(node)[1], "nth_value", 1)
    return node


def _rename(name: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: _call(name, *node.expressions)


_MAX_REPEATS = 255
#: Patterns that both read alike: no lookaheads, back references, classes or escapes of words.
_PLAIN_PATTERN = re.compile(
    r"(?:[^\\(\[^$]|[\^$](?![*+?{])|\\[wd.*+?()\[\]{}|^$\\/-]|\((?!\?)|\[(?![:.=\[])[^\\\[\]]*\])*"
)

_RULES: Mapping[type[exp.Expr] | str, Callable[[exp.Expr], exp.Expr]] = {
    exp.Literal: _rewrite_literal,
    **dict.fromkeys((exp.ByteString, exp.RawString), lambda node: _text(node.name)),
    exp.Div: _rewrite_division,
    exp.Mul: _rewrite_product,
    **dict.fromkeys((exp.Ceil, exp.Floor, exp.Sign, "ceiling"), _rewrite_ceil),
    **dict.fromkeys((exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow, exp.Acos, exp.Asin, "pow",
         "power"), _rewrite_doubles),
    **dict.fromkeys((exp.Round, exp.Trunc), _rewrite_rounding),
    **dict.fromkeys(
        (exp.Sum, exp.Avg, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance,
         exp.VariancePop, exp.Corr, "regr_slope", exp.Filter, exp.Window), _rewrite_aggregates),
    **dict.fromkeys((exp.Like, exp.ILike), _rewrite_like),
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), _rewrite_regex),
    exp.DPipe: lambda node: exp.DPipe(
        this=_write_value(node.this), expression=_write_value(node.expression)
    ),
    **dict.fromkeys((exp.Concat, exp.ConcatWs), _rewrite_concat),
    exp.Upper: _rewrite_upper,
    **dict.fromkeys((exp.Substring, "substr"), _rewrite_substring),
    exp.SplitPart: _rewrite_parts,
    exp.Replace: _rewrite_replace,
    **dict.fromkeys((exp.GroupConcat, exp.ArrayAgg), _rewrite_agg),
    exp.Cast: _rewrite_cast,
    exp.Collate: lambda node: node.this,
    **dict.fromkeys((exp.Extract, "date_part"), _rewrite_extract),
    "to_char": _rewrite_to_char,
    "to_timestamp": lambda node: _call("to_timestamp", _double(node.expressions[0])),
    "mod": lambda node: exp.Mod(this=node.expressions[0], expression=node.expressions[1]),
    **dict.fromkeys(("char_length", "character_length"), _rename("length")),
    exp.Reverse: lambda node: _call(
        "array_to_string",
        _call("list_reverse", _call("string_split", node.this, _text(""))),
        _text(""),
    ),
    "make_date": lambda node: _unless(
        node.expressions[0].copy() > 0, _call("make_date", *node.expressions)
    ),
    exp.NthValue: _rewrite_nth,
    exp.Nullif: lambda node: exp.Nullif(
        this=_double(node.this) if get_kind(node) is Kind.DOUBLE else node.this,
        expression=node.expression,
    ),
    "octet_length": _rename("strlen"),
    "btrim": _rename("trim"),
    "every": _rename("bool_and"),
    exp.TimestampTrunc: _rewrite_trunc,
    exp.WithinGroup: _rewrite_percentile,
}  # fmt: skip

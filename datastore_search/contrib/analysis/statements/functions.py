"""
The functions of statements: their names in PostgreSQL, what they take, and the type of the result.

A letter is the family of an argument: ``t`` text, ``n`` number, ``i`` integer, ``m`` day or moment,
``b`` boolean, ``o`` what has an order, ``l`` a literal, ``a`` any value.  Those after ``?`` may be
left out, and that before ``*`` may be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType as Kind

INTEGERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
NUMBERS = (*INTEGERS, Kind.DECIMAL, Kind.DOUBLE)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)

FAMILIES: Mapping[str, tuple[Kind, ...]] = {
    "t": (Kind.TEXT,),
    "n": NUMBERS,
    "i": INTEGERS,
    "m": MOMENTS,
    "b": (Kind.BOOLEAN,),
    "o": (Kind.TEXT, *NUMBERS, *MOMENTS, Kind.TIME),
}
#: What is compared, grouped and listed.
VALUES = (*FAMILIES["o"], Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Function:
    """
    What a function is.

    ``result`` is a type, or ``0`` for that of the first argument, ``=`` for the widest of all,
    ``compare`` for the answer to a comparison of all; ``types`` knows the others.
    """

    name: str
    families: str
    result: Kind | str
    is_aggregate: bool = False


#: Where PostgreSQL's name is not sqlglot's.
_NAMES: Mapping[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "now",
    exp.GroupConcat: "string_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Pow: "?column?",
    exp.StrPosition: "position",
    exp.TimestampTrunc: "date_trunc",
    exp.Trim: "btrim",
    exp.VariancePop: "var_pop",
}

_Signatures = Mapping[tuple[str, Kind | str], Sequence[type[exp.Func] | str]]

#: What functions take and return; those that sqlglot does not know are texts.
_AGGREGATES: _Signatures = {
    ("?a", Kind.BIGINT): [exp.Count],
    ("n", "sum"): [exp.Sum],
    ("n", "avg"): [
        exp.Avg, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop,
        "variance", "var_samp",
    ],
    ("o", "0"): [exp.Min, exp.Max],
    ("nn", Kind.DOUBLE): [
        exp.Corr, exp.CovarSamp, exp.CovarPop, "regr_slope", "regr_intercept", "regr_r2",
        "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy",
    ],
    ("nn", Kind.BIGINT): ["regr_count"],
    ("b", Kind.BOOLEAN): [exp.LogicalAnd, exp.LogicalOr, "every"],
    ("tl", Kind.TEXT): [exp.GroupConcat],
    ("a", Kind.ARRAY): [exp.ArrayAgg],
    ("l", Kind.DOUBLE): [exp.PercentileCont],
    ("l", "0"): [exp.PercentileDisc],
    ("", Kind.UNKNOWN): [exp.Mode],
}  # fmt: skip
_OTHERS: _Signatures = {
    # Windows
    ("", Kind.BIGINT): [exp.RowNumber, exp.Rank, exp.DenseRank],
    ("", Kind.DOUBLE): [exp.PercentRank, exp.CumeDist, exp.Pi],
    ("i", Kind.INT): [exp.Ntile],
    ("a?ia", "lag"): [exp.Lag, exp.Lead],
    ("a", "0"): [exp.FirstValue, exp.LastValue],
    ("al", "0"): [exp.NthValue],
    # Numbers
    ("n", "0"): [exp.Abs],
    ("n", "n"): [
        exp.Ceil, exp.Floor, exp.Sign, exp.Sqrt, exp.Exp, exp.Ln, "ceiling",
    ],
    ("n?n", "n"): [exp.Log],
    ("nn", "n"): [exp.Pow, "pow", "power"],
    ("n?l", "round"): [exp.Round, exp.Trunc],
    ("nn", "="): ["mod"],
    ("n", Kind.DOUBLE): [
        exp.Cbrt, exp.Sin, exp.Cos, exp.Tan, exp.Cot, exp.Asin, exp.Acos, exp.Atan,
        exp.Radians, exp.Degrees,
    ],
    ("nn", Kind.DOUBLE): [exp.Atan2],
    # Any values
    ("a*", "="): [exp.Coalesce],
    ("aa", "="): [exp.Nullif],
    ("o*", "="): [exp.Greatest, exp.Least],
    # Texts
    ("t", Kind.TEXT): [exp.Lower, exp.Upper, exp.Reverse, exp.MD5],
    ("t?t", Kind.TEXT): [exp.Trim, "ltrim", "rtrim", "btrim"],
    ("ttt", Kind.TEXT): [exp.Replace],
    ("t", Kind.INT): [exp.Length, "char_length", "character_length", "octet_length"],
    ("tt", Kind.INT): [exp.StrPosition, "strpos"],
    ("tt", Kind.BOOLEAN): [exp.StartsWith],
    ("tl?l", Kind.TEXT): [exp.Substring, "substr"],
    ("ti", Kind.TEXT): [exp.Left, exp.Right],
    ("tll", Kind.TEXT): [exp.SplitPart],
    ("a*", Kind.TEXT): [exp.Concat],
    ("ta*", Kind.TEXT): [exp.ConcatWs],
    # Days and moments
    ("la", Kind.DECIMAL): [exp.Extract],
    ("la", Kind.DOUBLE): ["date_part"],
    ("ml", "trunc"): [exp.TimestampTrunc],
    ("ml", Kind.TEXT): ["to_char"],
    ("n", Kind.TIMESTAMPTZ): ["to_timestamp"],
    ("iii", Kind.DATE): ["make_date"],
    ("", Kind.DATE): [exp.CurrentDate],
    ("", Kind.TIMESTAMPTZ): [exp.CurrentTimestamp],
}  # fmt: skip


FUNCTIONS: Mapping[type[exp.Expr] | str, Function] = {
    key: Function(
        key if isinstance(key, str) else _NAMES.get(key) or key.sql_name().lower(),
        *(families, result, signatures is _AGGREGATES),
    )
    for signatures in (_AGGREGATES, _OTHERS)
    for (families, result), keys in signatures.items()
    for key in keys
}

#: What is written between values, or beside one.
OPERATORS: Mapping[type[exp.Expr], Function] = {
    **dict.fromkeys(
        (exp.And, exp.Or, exp.Not, exp.Where, exp.Having), Function("", "b*", Kind.BOOLEAN)
    ),
    **dict.fromkeys(
        (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike), Function("", "t*", Kind.BOOLEAN)
    ),
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
         exp.Between, exp.In),
        Function("", "a*", "compare"),
    ),
    exp.Neg: Function("", "n", "0"),
}  # fmt: skip


def get_key(node: exp.Expr) -> type[exp.Expr] | str:
    """Return the class of a node, or the name of a function that sqlglot does not know."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else type(node)


def find_function(node: exp.Expr) -> Function | None:
    return FUNCTIONS.get(get_key(node))

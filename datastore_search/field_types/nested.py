"""JSON, and lists of values of one type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from string import whitespace

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from .field_type import DuckDBTexts, FieldType, Operators
from .json_values import (
    Expansion,
    Json,
    NotOfType,
    UnknownNotation,
    dump_json,
    parse_json_value,
    parse_storable,
    raise_unknown_notation,
)
from .numbers import FLOAT8, INT4, INT8, build_double_json
from .texts import BOOL, TEXT


def _match_all(parts: str, condition: str) -> str:
    """Build DuckDB's condition of JSON lists of ``parts``, for all of which a condition holds."""
    each = f"lambda x: x IS NULL OR coalesce({condition.replace('{v}', 'x')}, false)"
    elements = f"try_cast(try_cast({{v}} AS JSON) AS {parts}[])"
    return f"coalesce(list_bool_and(list_transform({elements}, {each})), true)"


#: DuckDB casts a text of JSON to no truth value.
_ELEMENTS = "CAST(CAST({v} AS JSON) AS VARCHAR[])"


def _build_list_type(
    element: FieldType, label: str | Promise, json_expression: str = ""
) -> FieldType:
    """Build a type whose texts in files are JSON; each element is written as one of its type."""

    def read(value: Json) -> str:
        """Parse a list; a text is JSON's list, or PostgreSQL's: ``[1, 2]`` or ``{1,2}``."""
        given = value
        if isinstance(value, str):
            if not value.lstrip(whitespace).startswith("["):
                raise_unknown_notation(value)
            try:
                given = json.loads(value, parse_float=Decimal, parse_constant=str)  # NaN
            except (ValueError, ArithmeticError, RecursionError):
                raise_unknown_notation(value)  # PostgreSQL's list with bounds, as [1:2]={7,8}
        if not isinstance(given, Sequence) or any(
            isinstance(each, list | Mapping) for each in given
        ):
            raise NotOfType
        try:
            texts = ["null" if each is None else element.parse_value(each) for each in given]
        except UnknownNotation:
            raise NotOfType from None
        expansion = Expansion()
        for text in texts:
            if "e" in text and text[-1].isdigit():  # a double, not a text or boolean
                expansion.dump_number(Decimal(text))
        return expansion.check(f"[{','.join(texts)}]")

    kind, condition = element.duckdb_type, element.duckdb.condition
    parts = "VARCHAR"
    if element.is_text:  # as which DuckDB reads lists and objects, too; 1.50 would become 1.5
        parts, condition = "JSON", "json_type({v}) NOT IN ('ARRAY', 'OBJECT', 'DOUBLE')"

    json_expression = json_expression or f"CAST(to_json(CAST({_ELEMENTS} AS {kind}[])) AS VARCHAR)"
    return FieldType(
        name=f"_{element.name}",
        label=label,
        aliases=tuple(f"{name}[]" for name in (element.name, *element.aliases)),
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        read_python=(lambda values: [each if each is None else float(each) for each in values])
        if element.is_double
        else None,
        sort_expression=f"datastore_search_elements({{v}})::{element.name}[]",
        operators=frozenset({Operators.ORDER, Operators.CONTAINS}),
        duckdb=DuckDBTexts(
            "CASE WHEN json_valid({v}) THEN json_type({v}) IN ('ARRAY', 'NULL')"  # as in dumps
            f" AND {_match_all(parts, condition)} ELSE false END",
            f"coalesce({json_expression}, 'null')",
            ((_match_all(parts, " OR ".join(element.duckdb.inference_conditions[0])),),),
            is_inferred=False,
        ),
        duckdb_type=f"{kind}[]",
        arrow_type=element.arrow_type,
        table_schema_type="array",
    )


def _parse_json_text(text: str) -> str:
    """Parse a text of a file that is not JSON: a text, unless it begins as JSON does."""
    if text.lstrip(whitespace)[:1] in {"{", "[", '"'}:
        raise NotOfType
    return dump_json(text)


JSON = FieldType(
    name="json",
    label=_("nested data"),
    aliases=("jsonb", "nested"),
    parse_value=parse_json_value,
    keeps_empty_text=True,
    parse_operand=parse_storable,
    parse_bound=dump_json,
    parse_text=_parse_json_text,
    holds=lambda _value: True,
    sort_expression="nullif({v}, 'null')",
    operators=frozenset({Operators.CONTAINS}),
    duckdb=DuckDBTexts(
        # DuckDB has constants that are not JSON.
        "json_valid({v}) AND NOT regexp_full_match({v}, '\\s*-?(nan|inf(inity)?)\\s*', 'i')",
        # A line break in JSON is a blank, and a line of a COPY ends with one.
        "replace(replace({v}, chr(10), ' '), chr(13), ' ')",
        is_inferred=False,
    ),
    duckdb_type="JSON",
    table_schema_type="any",
    declared_types=("struct", "map", "array", "OFSTJSON", "geometry"),
    python_types=frozenset({dict, list}),
)
TEXT_LIST = _build_list_type(TEXT, _("list of texts"))
INT4_LIST = _build_list_type(INT4, _("list of whole numbers"))
INT8_LIST = _build_list_type(INT8, _("list of whole numbers"))
FLOAT8_LIST = _build_list_type(
    FLOAT8,
    _("list of numbers"),
    "'[' || array_to_string([CASE WHEN x IS NULL THEN 'null'"
    f" ELSE {build_double_json('x')} END"
    " FOR x IN CAST(CAST({v} AS JSON) AS DOUBLE[])], ',') || ']'",
)
BOOL_LIST = _build_list_type(BOOL, _("list of yes or no"))

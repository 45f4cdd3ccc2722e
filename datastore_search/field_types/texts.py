"""Texts, and truth values, which are words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from string import whitespace

from django.utils.translation import gettext_lazy as _

from .field_type import (
    JSON_STRING,
    SCALAR_OPERATORS,
    DuckDBTexts,
    FieldType,
    Operators,
    Ordered,
)
from .json_values import Json, NotOfType, dump_json


def _parse_text(value: Json) -> str:
    """Parse a text; another value becomes its JSON text, as PostgreSQL prints it."""
    return dump_json(value if isinstance(value, str) else dump_json(value))


def _parse_text_operand(value: Json) -> str:
    """Parse a text; another value becomes what Python prints, as in CKAN: ``True``, ``1000.0``."""
    if isinstance(value, list | Mapping):
        raise NotOfType
    return dump_json(str(float(value) if isinstance(value, Decimal) else value))


TEXT = FieldType(
    name="text",
    label=_("text"),
    aliases=("string", "str", "varchar", "character varying"),
    parse_value=_parse_text,
    parse_operand=_parse_text_operand,
    parse_bound=_parse_text_operand,
    holds=lambda value: isinstance(value, str | int | Decimal | bool),
    sort_expression="{t}",
    operators=SCALAR_OPERATORS,
    ordered=Ordered.TEXTS,
    duckdb=DuckDBTexts("true", JSON_STRING),
    table_schema_type="string",
    common_formats=("",),
)

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def _parse_boolean(value: Json) -> str:
    """Parse a boolean, or one of PostgreSQL's words for one."""
    if isinstance(value, bool):
        return dump_json(value)
    word = value.strip(whitespace).lower() if isinstance(value, str) else ""
    if word not in _TRUE | _FALSE:
        raise NotOfType
    return dump_json(word in _TRUE)


BOOL = FieldType(
    name="bool",
    label=_("yes or no"),
    aliases=("boolean",),
    parse_value=_parse_boolean,
    parse_operand=_parse_boolean,
    parse_bound=_parse_boolean,
    holds=lambda value: isinstance(value, bool),
    sort_expression="nullif({v}, 'null')",
    operators=frozenset({Operators.ORDER}),
    duckdb=DuckDBTexts(
        "lower({v}) IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', '1', '0')",
        "CASE WHEN lower({v}) IN ('true', 't', 'yes', 'y', '1') THEN 'true' ELSE 'false' END",
        # One spelling in the whole field; otherwise the values are words.
        (
            (
                "{v} IN ('true', 'false')",
                "{v} IN ('True', 'False')",
                "{v} IN ('TRUE', 'FALSE')",
            ),
        ),
    ),
    duckdb_type="BOOLEAN",
    arrow_type="bool",
    table_schema_type="boolean",
    declared_types=("boolean", "OFSTBoolean"),
    python_types=frozenset({bool}),
    common_formats=("",),
)

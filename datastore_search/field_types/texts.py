"""Texts, and what has a few notations as a text: truth values, IP addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from ipaddress import IPv6Interface, ip_interface
from string import whitespace

from django.utils.translation import gettext_lazy as _

from .field_type import JSON_STRING, SCALAR_OPERATORS, DuckDBTexts, FieldType, Operators, Ordered
from .json_values import Json, NotOfType, dump_json, parse_text_value


def _parse_text_operand(value: Json) -> str:
    """Parse a text; another value becomes what Python prints, as in CKAN: ``True``, ``1000.0``."""
    if isinstance(value, list | Mapping):
        raise NotOfType
    return dump_json(str(float(value) if isinstance(value, Decimal) else value))


TEXT = FieldType(
    name="text",
    label=_("text"),
    aliases=("string", "str", "varchar", "character varying"),
    parse_value=parse_text_value,
    keeps_empty_text=True,
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
        (("{v} IN ('true', 'false')", "{v} IN ('True', 'False')", "{v} IN ('TRUE', 'FALSE')"),),
    ),
    duckdb_type="BOOLEAN",
    arrow_type="bool",
    table_schema_type="boolean",
    declared_types=("boolean", "OFSTBoolean"),
    python_types=frozenset({bool}),
    common_formats=("",),
)

_INET = re.compile(r"[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?")
#: IPv4 as it is stored; the parser reads what else there is.
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(\.{_BYTE}){{3}}(/(3[01]|[12]?[0-9]))?"


def _parse_inet(value: Json) -> str:
    """
    Parse an address, or one with the length of its network; that of a single address is left out.

    Source: PostgreSQL's ``inet``, without abbreviated networks such as ``10/8``.
    """
    text = value.strip(whitespace) if isinstance(value, str) else ""
    if not _INET.fullmatch(text):
        raise NotOfType
    try:
        interface = ip_interface(text)
    except ValueError:
        raise NotOfType from None
    address, length = interface.ip, interface.network.prefixlen
    # As PostgreSQL and newer Pythons write it.
    mapped = interface.ipv4_mapped if isinstance(interface, IPv6Interface) else None
    written = f"::ffff:{mapped}" if mapped else str(address)
    return dump_json(written if length == address.max_prefixlen else f"{written}/{length}")


INET = FieldType(
    name="inet",
    label=_("IP address"),
    parse_value=_parse_inet,
    parse_operand=_parse_inet,
    parse_bound=_parse_inet,
    sort_expression="{t}::inet",
    operators=SCALAR_OPERATORS,
    duckdb=DuckDBTexts(
        f"regexp_full_match({{v}}, '{_IPV4}')",
        JSON_STRING,
        ((f"regexp_full_match({{v}}, '{_IPV4}')",),),
        is_inferred=False,
    ),
    table_schema_type="string",
    input_attributes={"dir": "ltr"},
)

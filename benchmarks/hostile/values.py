"""Values that programs choke on: known attacks, and the edges of what a parameter may be."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Final

#: Texts of attacks on SQL, templates, paths, pages, logs, spreadsheets and parsers.
TEXTS: Final[Sequence[str]] = (
    "'", '"', "\\", "' OR '1'='1", "1; DROP TABLE datastore_search_resource; --",
    "%' UNION SELECT usename, passwd FROM pg_shadow --", "'; SELECT pg_sleep(30); --",
    "(SELECT pg_sleep(30))", "$$; COPY (SELECT 1) TO PROGRAM 'id'; $$",
    "pg_read_file('/etc/passwd')", "1::int; --", "E'\\047'", 'x"; DROP SCHEMA public CASCADE; --',
    "/* */", "%s%s%s%n", "%(name)s", "{0.__class__}", "{{7*7}}{% debug %}",
    "${jndi:ldap://127.0.0.1/a}", "`id`", "| id", "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd", "file:///etc/passwd", "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "</script><svg onload=alert(1)>",
    "\r\nSet-Cookie: a=b", "=cmd|' /C calc'!A0", "\x00", "a\x00b", "\x1b[31m", "\ufeff", "\ufffe",
    "\u202e\u2066", "\ud800", "e\u0301" * 50, "\u0e33" * 200, "王" * 300, "👩‍👩‍👧‍👦" * 20, "İıſK",
    ":*", "& | ! <->", "((((((((((", "a <-> b & !(c | d:*A)", "'''", "a" * 300, "a" * 12_000,
    "a " * 4_000, "(a+)+$" * 20, "*" * 500, "-1", "0", "00", "1e400", "-1e-400", "9" * 1_000,
    "9223372036854775808", "2147483648", "0x41", "１２", "1_000", "NaN", "infinity", "-infinity",
    "true", "null", "undefined", "[]", "{}", "[[[[", '{"a":', "2020-99-99", "0000-00-00",
    "10000-01-01", "2020-01-01T25:61:61+99:99", "today", "Asia/../../etc", "_id", "_table_metadata",
    "data", "search", "count(*)", "rank", "id desc, id asc, (SELECT 1)",
    "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
)  # fmt: skip

_SCALARS: Final = (0, 1, -1, 2**31, 2**63, 2**64, 10**30, 1.5, -0.0, 1e308, True, False, None)

#: Of a list or an object, how deep they are in each other, and one very deep list.
_SIZES: Final = (0, 1, 2, 5, 120)
_MAX_DEPTH: Final = 3
_NESTING: Final = 150


def choose_value(chance: random.Random, depth: int = 0) -> object:
    """Choose a value of JSON: mostly a text, else a number, a list or an object of some."""
    kinds = ["text", "number", "list", "object", "nested"]
    (kind,) = chance.choices(kinds, [60, 10, 15, 13, 2])
    if kind == "text" or depth > _MAX_DEPTH:
        return choose_text(chance)
    if kind == "number":
        return chance.choice(_SCALARS)
    if kind == "nested":
        return json.loads("[" * _NESTING + "]" * _NESTING)
    size = chance.choice(_SIZES) if depth == 0 else 2
    if kind == "list":
        return [choose_value(chance, depth + 1) for _ in range(size)]
    return {choose_text(chance): choose_value(chance, depth + 1) for _ in range(size)}


def choose_text(chance: random.Random) -> str:
    """Choose a text: one of the list, two of them, or letters by chance."""
    (kind,) = chance.choices(["one", "two", "letters"], [70, 15, 15])
    if kind == "letters":
        highest = chance.choice([0x250, 0xD800])
        return "".join(chr(chance.randrange(highest)) for _ in range(chance.randrange(1, 12)))
    return "".join(chance.choices(TEXTS, k=1 if kind == "one" else 2))

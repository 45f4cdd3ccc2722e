"""The tables of the reading cases: fields of every type, awkward names and values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

#: Composed and decomposed forms of one word: they look equal.
COMPOSED = "H\u1ed3ng"
DECOMPOSED = "Ho\u0302\u0300ng"


@dataclass(frozen=True)
class Table:
    """A table, and the parameters that create it; a record is null after its last value."""

    name: str
    fields: dict[str, str]
    records: tuple[tuple[Any, ...], ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def creation(self) -> dict[str, Any]:
        return {
            "resource_id": f"@{self.name}",
            "fields": [{"id": name, "type": kind} for name, kind in self.fields.items()],
            "records": [dict(zip_longest(self.fields, record)) for record in self.records],
            "aliases": list(self.aliases),
            "force": True,
        }


_KINDS = ("mine", "farm", "mill", "farm", None, "mine", "", "farm", "mill", "mine", "farm", "port")
_NAMES = (
    "Hà Nội",
    "Ha Noi",
    "Đà Lạt",
    "Cần Thơ",
    "Huế",
    "Sông " + COMPOSED,
    "Sông " + DECOMPOSED,
    "alpha",
    "Alpha",
    "beta, the second",
    'the "third"',
    "50% off",
    "under_score",
    "it's",
    "back\\slash",
    "two\nlines",
    "tab\there",
    " blank before",
    "blank after ",
    "",
    "None",
    "🙂 smile",
    "Ünïcödé",
    "NULL",
    None,
    "true",
)


def _make_place(number: int, name: str | None) -> tuple[Any, ...]:
    """Make one place; some of its cells are empty."""

    def blank_every(step: int, value: Any) -> Any:
        return None if number % step == 0 else value

    return (
        f"P-{number:03d}",
        name,
        _KINDS[number % len(_KINDS)],
        blank_every(9, (number * 37) % 11 * 1000),
        blank_every(8, f"{number * number}.{number % 10}0"),
        blank_every(7, number / 8 - 1),
        blank_every(6, f"19{70 + number}-0{number % 9 + 1}-1{number % 10}"),
        blank_every(5, f"2024-02-{number + 1:02d}T{number % 24:02d}:30:00"),
        blank_every(4, number % 3 == 0),
        blank_every(11, f"{number % 24:02d}:15:00"),
        blank_every(10, ["old", "new"] if number % 2 else ["old"] if number % 3 else []),
        blank_every(10, [number, number % 3]),
        blank_every(3, {"level": number % 4} if number % 2 else [number, "x"]),
    )


PLACES = Table(
    "places",
    {
        "code": "text",
        "name": "text",
        "kind": "text",
        "people": "int4",
        "area": "numeric",
        "height": "float8",
        "founded": "date",
        "visited": "timestamp",
        "open": "bool",
        "opens": "time",
        "tags": "_text",
        "marks": "_int4",
        "about": "json",
    },
    tuple(_make_place(number, name) for number, name in enumerate(_NAMES, 1)),
    ("replay_places", "nơi chốn"),
)

NUMBERS = Table(
    "numbers",
    {
        "label": "text",
        "small": "int2",
        "whole": "int4",
        "big": "int8",
        "ratio": "float8",
        "amount": "numeric",
    },
    (
        ("zero", 0, 0, 0, 0, 0),
        ("one", 1, 1, 1, 1, "1"),
        ("scaled", 1, 1, 1, 1.0, "1.00"),
        ("negative", -1, -1, -1, -1.5, "-1.50"),
        ("most", 32767, 2147483647, 9223372036854775807, 1.7976931348623157e308, "1e20"),
        ("least", -32768, -2147483648, -9223372036854775808, 5e-324, "1e-20"),
        ("beyond doubles", 7, 7, 9007199254740993, 0.1, "0.1000000000000000055511151231257827"),
        ("long", 8, 8, 8, 1e21, "123456789012345678901234567890.123456789012345678901234567890"),
        ("not a number", None, None, None, "NaN", "NaN"),
        ("infinite", None, None, None, "Infinity", None),
        ("infinitely less", None, None, None, "-Infinity", None),
        ("empty texts", "", "", "", "", ""),
        ("as texts", "42", "42", "42", "42.5", "42.50"),
        ("tiny", 3, 3, 3, 1e-7, "0.0000001"),
        ("007", 7, 7, 7, 7.0, "7"),
        ("1200.50", 12, 1200, 1200, 1200.5, "1200.50"),
    ),
    ("replay_numbers",),
)

TIMES = Table(
    "times",
    {"label": "text", "day": "date", "moment": "timestamp", "hour": "time", "sure": "bool"},
    (
        ("leap", "2024-02-29", "2024-02-29T12:34:56", "12:34:56", True),
        ("parts", "2024-02-28", "2024-02-29T12:34:56.789", "12:34:56.789", False),
        ("blank", "1999-12-31", "1999-12-31 23:59:59", "23:59:59", "t"),
        ("day only", "20200101", "2020-01-01", "00:00", "f"),
        ("none", None, None, None, None),
        ("empty texts", "", "", "", ""),
        ("first", "0001-01-01", "0001-01-01T00:00:00", "00:00:00", "yes"),
        ("last", "9999-12-31", "9999-12-31T23:59:59.999", "24:00:00", "no"),
        ("words", "May 5, 2020", "May 5, 2020 1:02 pm", "1:02 pm", "on"),
        ("zone", "2020-06-01", "2020-06-01T10:00:00+05:00", "10:00", "off"),
        ("utc", "2020-06-02", "2020-06-02T10:00:00Z", "10:00:00.5", "1"),
        ("same", "2020-06-02", "2020-06-02T10:00:00", "10:00:00.500", "0"),
    ),
)

#: Names that trip up SQL, formatting, splitting and quoting.
AWKWARD = (
    "Mixed Case",
    "mixed case",
    "a, b",
    "100%",
    "a.b.c",
    "Tên tỉnh",
    "đơn vị",
    "it's",
    "$price",
    "select",
    "x;--",
    "{}",
    "back\\slash",
    "a:b",
    "%s",
    "%(x)s",
    "(a)",
    "a&b=c",
    "desc",
    "rank desc",
    "🙂",
)

NAMES = Table(
    "names",
    dict.fromkeys(AWKWARD, "text"),
    tuple(
        tuple(word and f"{word} {number}" for number, _ in enumerate(AWKWARD))
        for word in ("cherry", "apple", "banana", None)
    ),
)

WORDS = Table(
    "words",
    {"title": "text", "body": "text", "year": "int4", "price": "numeric", "on": "date"}
    | {"moment": "timestamp", "free": "bool", "more": "json", "tags": "_text"},
    (
        ("Foxes", "The quick brown foxes", 1987, "12.50", "1987-02-11", None, True, None, ["zoo"]),
        ("fox", "A fox is running", 1988, None, None, "2021-03-01T09:00:00", False),
        ("Hounds", "lazy dogs", 28, "7.5", None, None, None, {"breed": "beagle"}, ["kennel"]),
        ("River", "River level at the old bridge", 2019, None, None, None, None, None, []),
        ("Bridge", "The bridges of the river", 2020, "1200.50", None, None, None, [1, "ford"]),
        ("Hà Nội", "Chất lượng không khí Hà Nội", 2021, None, None, None, None, None, ["vi"]),
        ("Ha Noi", "Air quality in Ha Noi", 2021, None, None, None, None, None, ["en"]),
        ("Sông " + COMPOSED, "Mực nước", 2022),
        ("Sông " + DECOMPOSED, "Mực nước", 2022),
        ("Straße", "Die Straßen in Köln", 2023, None, None, None, None, None, ["de"]),
        ("strasse", "Haus an der strasse", 2023, None, None, None, None, None, ["de"]),
        ("Москва", "Столица России", 2024, None, None, None, None, None, ["ru"]),
        ("北京", "北京 市", 2024, None, None, None, None, None, ["zh"]),
        ("Mail", "write to jane.doe@example.org today", 1),
        ("Web", "see https://www.example.org/path/page.html?x=1", 2),
        ("Version", "release 3.11.4 of the thing", 3),
        ("Hyphen", "a well-known state-of-the-art idea", 4),
        ("Quote", 'O\'Brien said "chess & tea" (both)', 5),
        ("Jonathan", "gardening on sunday.", 6),
        ("Jon", "garden", 7),
        ("THE", "the and can will", 8),
        ("empty", ""),
        (),
        (
            "Twice",
            "river river river fox",
            9,
            "0.50",
            "2000-01-01",
            None,
            False,
            {"a": {"b": "deep"}},
            [],
        ),
        ("100%", "100% cotton_wool #1", 10, "100"),
        ("emoji", "🙂 smile 🙂", 11),
        ("code", "A-01 B_02 C.03 D/04", 12, None, None, None, None, {"code": "E-05"}, ["F-06"]),
        ("negative", "-5 degrees", -5, "-5.5", None, None, None, -5),
    ),
)

EMPTY = Table("empty", dict(PLACES.fields))

MANY = Table(
    "many",
    {"number": "int4", "third": "text", "half": "text"},
    tuple((n, f"t{n % 3}", None if n % 2 else "even") for n in range(1, 131)),
)

TABLES = (PLACES, NUMBERS, TIMES, NAMES, WORDS, EMPTY, MANY)


def list_create_parameters() -> list[dict[str, Any]]:
    return [table.creation for table in TABLES]

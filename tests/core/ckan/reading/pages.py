"""Pages of records: limit, offset, the next page; and the parameters that are true or false."""

from __future__ import annotations

from .group import MANY, PLACES, SEVERAL, WORDS, Group

_WHOLE_NUMBERS = {
    "zero": 0,
    "one": 1,
    "text": "2",
    "text with blanks": " 3 ",
    "plus": "+2",
    "whole fraction": 4.0,
    "true": True,
    "false": False,
    "null": None,
    "empty text": "",
    "negative": -1,
    "negative text": "-1",
    "fraction": 1.5,
    "fraction as text": "1.5",
    "whole fraction as text": "5.0",
    "exponent": 1e3,
    "exponent as text": "1e3",
    "word": "abc",
    "hexadecimal": "0x2",
    "million": 1_000_000,
}

_PAGING = (
    Group("limit", "limit", {**_WHOLE_NUMBERS, "at most": 32000, "too many": 32001}, PLACES),
    Group("limit/500", "limit", {"list": [2], "object": {}}, PLACES),
    Group("offset", "offset", _WHOLE_NUMBERS, {**PLACES, "limit": 3}),
    Group(
        "paging",
        SEVERAL,
        {
            "default limit": {},
            "second page": {"limit": 50, "offset": 50},
            "last page": {"limit": 50, "offset": 100},
            "beyond the end": {"limit": 5, "offset": 1000},
            "at the end": {"limit": 5, "offset": 130},
            "backwards": {"limit": 5, "offset": 125, "sort": "_id desc"},
            "by another field": {"limit": 4, "offset": 3, "sort": "number desc"},
            "filtered": {"limit": 4, "offset": 40, "filters": {"third": "t1"}},
            "filtered beyond": {"limit": 4, "offset": 44, "filters": {"third": "t1"}},
            "nothing but the total": {"limit": 0, "filters": {"half": "even"}},
        },
        MANY,
    ),
    Group(
        "next page",
        SEVERAL,
        {
            "first": {"limit": 3},
            "second": {"limit": 3, "filters": {"_id": {"gt": 3}}},
            "last": {"limit": 3, "filters": {"_id": {"gt": 129}}},
            "empty": {"limit": 3, "filters": {"_id": {"gt": 130}}},
            "backwards": {"limit": 3, "sort": "_id desc"},
            "ascending": {"limit": 3, "sort": "_id asc"},
            "by another field": {"limit": 3, "sort": "number"},
            "by two fields": {"limit": 3, "sort": "_id, number"},
            "offset": {"limit": 3, "offset": 5},
            "no records": {"limit": 0},
            "without ids": {"limit": 3, "fields": "number"},
            "lists": {"limit": 3, "records_format": "lists"},
            "csv": {"limit": 3, "records_format": "csv"},
            "question": {"limit": 200, "q": "even"},
            "question by id": {"limit": 3, "q": "even", "sort": "_id"},
            "distinct": {"fields": "third", "distinct": True, "sort": "third"},
        },
        {**MANY, "include_next_page": True},
    ),
)

_BOOLEANS = {
    "true": True,
    "false": False,
    "one": 1,
    "zero": 0,
    "null": None,
    "empty text": "",
    "text true": "true",
    "text TRUE": "TRUE",
    "text yes": "yes",
    "text t": "t",
    "text y": "Y",
    "text 1": "1",
    "text on": "on",
    "text no": "no",
    "word": "maybe",
}

_SWITCHES = (
    Group("include_total", "include_total", _BOOLEANS, {**PLACES, "limit": 1}),
    Group("include_next_page", "include_next_page", _BOOLEANS, {**PLACES, "limit": 1}),
    Group(
        "distinct switch",
        "distinct",
        _BOOLEANS,
        {"resource_id": "@places", "fields": "kind", "sort": "kind"},
    ),
    Group("plain", "plain", _BOOLEANS, {**WORDS, "q": "fox & running", "sort": "_id"}),
)

GROUPS: tuple[Group, ...] = (*_PAGING, *_SWITCHES)

"""What records look like and in which order: fields, formats, sort, distinct."""

from __future__ import annotations

from typing import Any

from .group import NUMBERS, PLACES, SEVERAL, TIMES, Group

#: What is asked for in every format.
_FORMATTED: dict[str, dict[str, Any]] = {
    "places": {"resource_id": "@places", "limit": 5},
    "awkward texts": {"resource_id": "@places", "fields": "_id,name", "offset": 8},
    "other order": {"resource_id": "@places", "fields": "kind,_id", "limit": 8},
    "numbers": {"resource_id": "@numbers"},
    "times": {"resource_id": "@times", "fields": "day,moment,hour,sure"},
    "nested": {"resource_id": "@places", "fields": ["tags", "marks", "about"], "limit": 12},
    "names": {"resource_id": "@names", "limit": 1},
    "empty": {"resource_id": "@empty"},
    "nothing found": {"resource_id": "@places", "filters": {"code": "nope"}},
    "sorted": {"resource_id": "@places", "fields": "code", "sort": "code desc"},
    "question": {"resource_id": "@words", "q": "river", "fields": "_id,title"},
    "question with rank": {"resource_id": "@words", "q": "hounds", "limit": 1},
    "distinct": {"resource_id": "@places", "fields": "kind", "distinct": True},
    "distinct sorted": {
        "resource_id": "@places",
        "fields": "kind",
        "distinct": True,
        "sort": "kind desc",
    },
}

_FIELDS = (
    Group(
        "fields",
        "fields",
        {
            "one": "code",
            "two": "code,kind",
            "other order": "kind,_id,code",
            "blanks": " code , kind ",
            "quoted": '"code","kind"',
            "quoted with blanks": ' "code" , kind',
            "list": ["code", "kind"],
            "list of one": ["code"],
            "list with id": ["code", "_id"],
            "list with quotes": ['"code"'],
            "list with blanks": [" code "],
            "empty list": [],
            "empty text": "",
            "null": None,
            "twice": "code,code",
            "twice in a list": ["code", "code"],
            "unknown": "nope",
            "unknown in a list": ["code", "nope"],
            "several unknown": ["nope", "nor"],
            "wrong case": "Code",
            "empty name": "code,,kind",
            "last empty": "code,",
            "empty name in a list": ["code", ""],
            "star": "*",
            "rank": "rank",
            "internal": "_full_text",
            "number": 5,
            "true": True,
            "object": {"code": 1},
            "list of numbers": [1, 2],
            "expression": "count(*)",
        },
        {"resource_id": "@places", "limit": 3},
    ),
    Group(
        "fields/500",
        "fields",
        {"list of lists": [["code"]]},
        {"resource_id": "@places", "limit": 1},
    ),
    Group(
        "all types",
        SEVERAL,
        {
            "places": {"resource_id": "@places", "limit": 9},
            "later places": {"resource_id": "@places", "limit": 4, "offset": 12},
            "numbers": {"resource_id": "@numbers"},
            "times": {"resource_id": "@times"},
            "names": {"resource_id": "@names"},
            "words": {"resource_id": "@words"},
            "empty": {"resource_id": "@empty"},
            "empty without records": {"resource_id": "@empty", "limit": 0},
        },
    ),
    Group(
        "formats",
        SEVERAL,
        {
            f"{kind} {label}": {**sent, "records_format": kind}
            for kind in ("lists", "csv", "tsv")
            for label, sent in _FORMATTED.items()
        },
    ),
    Group(
        "records_format",
        "records_format",
        {
            "null": None,
            "empty text": "",
            "upper": "CSV",
            "xml": "xml",
            "number": 5,
            "list": ["csv"],
        },
        {**PLACES, "limit": 1},
    ),
)

_SORT = (
    Group(
        "sort",
        "sort",
        {
            "ascending": "code",
            "descending": "code desc",
            "asc in words": "code asc",
            "capitals": "code DESC",
            "mixed case": "code DeSc",
            "many blanks": "  code    desc  ",
            "two keys": "kind, code desc",
            "two keys other way": "kind desc, code",
            "without a blank": "kind,code",
            "list": ["kind", "code desc"],
            "list of one": ["code desc"],
            "quoted": '"kind" desc, "code"',
            "quoted in a list": ['"kind" desc', "code"],
            "nulls first": "kind nulls first, _id",
            "nulls last": "kind nulls last, _id",
            "descending nulls first": "kind desc nulls first, _id",
            "descending nulls last": "kind desc nulls last, _id",
            "capital nulls": "kind ASC NULLS FIRST, _id",
            "by id": "_id desc",
            "by a number": "people desc, _id",
            "by a numeric": "area, _id desc",
            "by a float": "height desc nulls last, _id",
            "by a date": "founded, _id",
            "by a time of day": "opens desc, _id",
            "by a timestamp": "visited desc, _id",
            "by a truth value": "open, _id",
            "by a list of texts": "tags, _id",
            "by a list of numbers": "marks desc, _id",
            "by a field not shown": "people, _id desc",
            "same key twice": "code, code desc",
            "empty text": "",
            "empty list": [],
            "null": None,
            "empty key": "code,",
            "empty first key": ",code",
            "only a comma": ",",
            "empty key in a list": ["code", ""],
            "comma in a list": ["kind, code"],
            "blank": " ",
            "unknown": "nope",
            "unknown second": "code, nope desc",
            "wrong case": "Code",
            "json": "about",
            "rank": "rank",
            "internal": "_full_text",
            "bad direction": "code down",
            "two directions": "code asc desc",
            "bad nulls": "code nulls middle",
            "nulls without a place": "code nulls",
            "only a direction": "desc",
            "function": "random()",
            "injection": "code; drop table x",
            "position": "1",
            "number": 5,
            "true": True,
            "object": {"code": "desc"},
            "list of numbers": [1],
            "half quoted": '"code',
            "minus": "-code",
            "dotted": "places.code",
            "collation": 'code collate "C"',
        },
        PLACES,
    ),
    Group("sort/500", "sort", {"list of lists": [["code"]]}, PLACES),
    Group(
        "sort numbers",
        "sort",
        {
            f"{name} {way}": f"{name} {way}, _id"
            for name in ("small", "whole", "big", "ratio", "amount")
            for way in ("asc", "desc", "nulls first")
        },
        NUMBERS,
    ),
    Group(
        "sort times",
        "sort",
        {
            f"{name} {way}": f"{name} {way}, _id"
            for name in ("day", "moment", "hour", "sure")
            for way in ("asc", "desc nulls last")
        },
        TIMES,
    ),
)

_DISTINCT = Group(
    "distinct",
    SEVERAL,
    {
        "one field": {"fields": "third"},
        "one field sorted": {"fields": "third", "sort": "third desc"},
        "two fields": {"fields": "third,half"},
        "two fields sorted": {"fields": ["third", "half"], "sort": "half nulls first, third"},
        "limited": {"fields": "third", "sort": "third", "limit": 2},
        "offset": {"fields": "third", "sort": "third", "limit": 2, "offset": 2},
        "offset beyond": {"fields": "third", "sort": "third", "offset": 3},
        "no records": {"fields": "third", "limit": 0},
        "filtered": {"fields": "third", "filters": {"number": [1, 2, 4]}, "sort": "third"},
        "without total": {"fields": "third", "sort": "third", "include_total": False},
        "without fields": {"limit": 2, "sort": "_id"},
        "with id": {"fields": "_id,third", "limit": 2, "sort": "_id"},
        "sorted by another": {"fields": "third", "sort": "number"},
        "sorted by id": {"fields": "third", "sort": "_id"},
        "question": {"fields": "third", "q": "even"},
        "question without fields": {"q": "t1", "limit": 200},
        "nothing found": {"fields": "third", "filters": {"third": "nope"}},
    },
    {"resource_id": "@many", "distinct": True},
)

_DISTINCT_TYPES = Group(
    "distinct types",
    "fields",
    {
        name: name
        for name in (
            "kind",
            "people",
            "open",
            "tags",
            "marks",
            "about",
            "area",
            "height",
            "visited",
        )
    },
    {"resource_id": "@places", "distinct": True},
)

GROUPS: tuple[Group, ...] = (*_FIELDS, *_SORT, _DISTINCT, _DISTINCT_TYPES)

"""Names of fields that trip up SQL, formatting, splitting and quoting."""

from __future__ import annotations

from ..tables import AWKWARD
from .group import NAMES, SEVERAL, Group

GROUPS: tuple[Group, ...] = (
    Group("names fields", "fields", {name: [name] for name in AWKWARD}, NAMES),
    Group(
        "names sort",
        "sort",
        {name: [f'"{name}" desc nulls last'] for name in AWKWARD},
        {**NAMES, "fields": "_id"},
    ),
    Group(
        "names filters",
        "filters",
        {
            name: {("$" + name if name.startswith("$") else name): f"apple {number}"}
            for number, name in enumerate(AWKWARD)
        },
        {**NAMES, "fields": "_id"},
    ),
    Group(
        "names q",
        "q",
        {name: {name: "banana"} for name in AWKWARD[::3]},
        {**NAMES, "fields": "_id", "sort": "_id"},
    ),
    Group(
        "names",
        SEVERAL,
        {
            "fields as text": {"fields": "Mixed Case,100%,a.b.c,Tên tỉnh"},
            "fields quoted": {"fields": '"Mixed Case","đơn vị","it\'s"'},
            "fields with a comma": {"fields": '"a, b"'},
            "sort bare": {"sort": "Mixed Case desc nulls last"},
            "sort bare unicode": {"sort": "Tên tỉnh, _id"},
            "sort bare percent": {"sort": "100% desc, _id"},
            "sort quoted text": {"sort": '"Tên tỉnh" desc nulls last, "Mixed Case"'},
            "sort bare in a list": {"sort": ["a, b desc nulls last"]},
            "sort by desc": {"sort": "desc"},
            "sort by desc desc": {"sort": "desc desc nulls last"},
            "sort by rank desc": {"sort": "rank desc"},
            "dollar unescaped": {"filters": {"$price": "apple 8"}},
            "dollar with operators": {"filters": {"$$price": {"gt": "banana"}}},
            "dollar in or": {"filters": {"$or": [{"$$price": "apple 8"}, {"{}": "cherry 11"}]}},
        },
        {**NAMES, "fields": ["_id"]},
    ),
)

"""Values of every type, written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .step import Step, create, insert

#: For each type the values written to it, one after the other.
_VALUES: dict[str, list[Any]] = {
    "text": ["x", "", " x ", 5, 1.5, 1000.0, True, None, [1, "a"], {"k": "v"}, "a\u0301", "🙂"],
    "int4": [5, "5", " 5 ", "+5", "", " ", 5.0, 5.5, "5.5", "5.0", "1e3", "abc", 2147483648, True],
    "int8": [9223372036854775807, "9007199254740993", 9223372036854775808, 1.0, "x"],
    "int2": [32767, 32768, "-5"],
    "numeric": [5, "1.50", 1.5, "1e3", "1e-3", "NaN", "Infinity", " 2.0 ", "abc", "", True, "1,5"],
    "float8": [5, "1.50", 0.1, "1e300", "1e400", "nan", "inf", "abc", "", "1e-400", True],
    "bool": [True, "true", "yes", "F", "1", "0", 1, 0, "maybe", "", "tr", 2],
    "date": [
        *("2024-02-29", "20240229", "29 Feb 2024", "2023-02-29", "02/03/2024", "2024-02", 2024),
        *("2024-02-29T10:00:00", "", "infinity", "-0044-03-15"),
    ],
    "timestamp": [
        *("2024-02-29T10:00:00", "2024-02-29 10:00", "2024-02-29", "2024-02-29T10:00:00Z"),
        *("2024-02-29T10:00:00+05:00", "2024-02-29T10:00:00.123456", "2024-02-30", "now-ish"),
        *(5, "", "2024-02-29T10:00:00.5", "infinity"),
    ],
    "time": ["10:00", "10:00:00.25", "3 pm", "25:00", "24:00", "", 5],
    "json": [{"b": 1, "a": [1, 2.50]}, [1, "x"], "text", "", 5, 1.10, True, None, '{"k": 1}'],
    "_text": [["a", "b"], [], ["a", None], "{a,b}", "a,b", "", [1, 2], [["a"], ["b"]], '["a"]'],
    "_int4": [[1, 2], [], [1, None], "{1,2}", ["1", "2"], [1.5], ["x"], "", 5],
}


def _iterate_value_steps() -> Iterator[tuple[str, list[Step]]]:
    for kind, values in _VALUES.items():
        fields = [{"id": "sent", "type": "text"}, {"id": "got", "type": kind}]
        inserts = [
            (f"upsert {label}", insert({"sent": label, "got": value})[1])
            for value in values
            for label in [json.dumps(value)]
        ]
        yield kind, [create(fields=fields), *inserts]


GROUPS: dict[str, dict[str, list[Step]]] = {"value": dict(_iterate_value_steps())}

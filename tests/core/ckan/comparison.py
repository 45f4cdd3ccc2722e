"""The parts in which our answer to a request differs from CKAN's."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

from .cases import Request
from .exchange import map_field_types

#: Messages of CKAN that ours repeat.
PLAIN_WORDS = frozenset(
    {"Cannot parse JSON", "Invalid integer", "Missing value", "Must be a natural number"}
)

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_LONG = Context(prec=1000, Emax=999999, Emin=-999999)


@dataclass(frozen=True)
class Comparison:
    name: str
    request: Request
    ckan: Mapping[str, Any]
    ours: Mapping[str, Any]

    @cached_property
    def differing(self) -> frozenset[str]:
        """The parts of the answers that differ; of a success and a failure, the status alone."""
        if self.ckan["status"] != self.ours["status"]:
            return frozenset({"status"})
        theirs, mine = self._list_parts(self.ckan), self._list_parts(self.ours)
        return frozenset(
            name for name in theirs.keys() | mine.keys() if theirs.get(name) != mine.get(name)
        )

    def _list_parts(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            return {"error": self._select_messages(answer["error"])}
        result = answer.get("result", {})
        parts = {name: normalize_value(value) for name, value in result.items()}
        if "records" in result:
            parts["records"] = _normalize_records(self.request, result)
        if self.request.action == "datastore_create":
            parts.pop("fields", None)
        return parts

    def _select_messages(self, error: Mapping[str, list[str]]) -> dict[str, frozenset[str]]:
        """Return the members of an error, with the messages that ours share with CKAN's."""
        ckan_messages = self.ckan.get("error", {})
        return {
            name: PLAIN_WORDS.intersection(texts).intersection(ckan_messages.get(name, ()))
            for name, texts in error.items()
        }


def _normalize_records(request: Request, result: Mapping[str, Any]) -> Any:
    """Return comparable records: without ranks, and sorted where the order is undefined."""
    kinds = map_field_types(result.get("fields", ()))
    records = result["records"]
    if isinstance(records, str):
        rows = list(_iterate_rows(records, result["records_format"], list(kinds.values())))
    else:
        rows = [_normalize_record(record, kinds) for record in records]
    return rows if request.in_order else sorted(rows, key=repr)


def _iterate_rows(text: str, kind: str, kinds: list[str]) -> Iterator[Any]:
    """Yield each record of a CSV as its cells and, unless it has a rank, with its text."""
    lines = io.StringIO(text, newline="")
    start = 0
    for cells in csv.reader(lines, delimiter=_DELIMITERS[kind], strict=True):
        raw, start = text[start : lines.tell()], lines.tell()
        if "float" in kinds:
            yield [cell for cell, type_ in zip(cells, kinds, strict=True) if type_ != "float"]
        else:
            yield cells, raw


def parse_cells(result: Mapping[str, Any]) -> list[list[str]]:
    lines = io.StringIO(result["records"], newline="")
    return list(csv.reader(lines, delimiter=_DELIMITERS[result["records_format"]], strict=True))


def _normalize_record(record: Any, kinds: Mapping[str, str]) -> Any:
    if isinstance(record, dict):
        return {name: _normalize_cell(value, kinds.get(name, "")) for name, value in record.items()}
    return [
        _normalize_cell(value, kind) for value, kind in zip(record, kinds.values(), strict=True)
    ]


def _normalize_cell(value: Any, kind: str) -> Any:
    if kind == "float":
        return "a rank"
    return normalize_value(value, with_scale=kind == "numeric")


def normalize_value(value: Any, *, with_scale: bool = False) -> Any:
    """Return a value in which equal numbers are equal, but not to texts or booleans."""
    if isinstance(value, Decimal):
        return "number", format(value if with_scale else _LONG.normalize(value), "f")
    if isinstance(value, dict):
        return {name: normalize_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [normalize_value(member) for member in value]
    return value

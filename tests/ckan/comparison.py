"""Our answer to a request beside CKAN's: what differs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

from .cases import Request
from .exchange import types_in

#: Messages of CKAN that say what is wrong: ours are the same.
PLAIN_WORDS = frozenset(
    {
        "Cannot parse JSON",
        "Invalid integer",
        "Missing value",
        "Must be a natural number",
    }
)

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_LONG = Context(prec=1000, Emax=999999, Emin=-999999)


@dataclass(frozen=True)
class Comparison:
    """Two answers to one request."""

    name: str
    request: Request
    ckan: Mapping[str, Any]
    ours: Mapping[str, Any]

    @cached_property
    def differing(self) -> frozenset[str]:
        """The parts of the answers that differ; of a success and a failure, the status alone."""
        if self.ckan["status"] != self.ours["status"]:
            return frozenset({"status"})
        theirs, mine = self._parts(self.ckan), self._parts(self.ours)
        return frozenset(
            name for name in theirs.keys() | mine.keys() if theirs.get(name) != mine.get(name)
        )

    def _parts(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            return {"error": self._error(answer["error"])}
        result = answer.get("result", {})
        parts = {name: plain(value) for name, value in result.items()}
        if "records" in result:
            parts["records"] = _records(self.request, result)
        if self.request.action == "datastore_create":
            parts.pop("fields", None)
        return parts

    def _error(self, error: Mapping[str, list[str]]) -> dict[str, frozenset[str]]:
        """Give the members of an error, with those of CKAN's messages that are ours too."""
        said = self.ckan.get("error", {})
        return {
            name: PLAIN_WORDS.intersection(texts).intersection(said.get(name, ()))
            for name, texts in error.items()
        }


def _records(request: Request, result: Mapping[str, Any]) -> Any:
    """Give records in a form that compares: without ranks, and in order where there is one."""
    kinds = types_in(result.get("fields", ()))
    records = result["records"]
    if isinstance(records, str):
        rows = list(_rows(records, result["records_format"], list(kinds.values())))
    else:
        rows = [_record(record, kinds) for record in records]
    return rows if request.in_order else sorted(rows, key=repr)


def _rows(text: str, kind: str, kinds: list[str]) -> Iterator[Any]:
    """Give each record of a CSV as its cells and, unless it holds a rank, as it stands."""
    lines = io.StringIO(text, newline="")
    start = 0
    for cells in csv.reader(lines, delimiter=_DELIMITERS[kind], strict=True):
        raw, start = text[start : lines.tell()], lines.tell()
        if "float" in kinds:
            yield [cell for cell, type_ in zip(cells, kinds, strict=True) if type_ != "float"]
        else:
            yield cells, raw


def cells_of(result: Mapping[str, Any]) -> list[list[str]]:
    """Give the cells of each record of a CSV."""
    lines = io.StringIO(result["records"], newline="")
    return list(csv.reader(lines, delimiter=_DELIMITERS[result["records_format"]], strict=True))


def _record(record: Any, kinds: Mapping[str, str]) -> Any:
    if isinstance(record, dict):
        return {name: _cell(value, kinds.get(name, "")) for name, value in record.items()}
    return [_cell(value, kind) for value, kind in zip(record, kinds.values(), strict=True)]


def _cell(value: Any, kind: str) -> Any:
    if kind == "float":
        return "a rank"
    return plain(value, with_scale=kind == "numeric")


def plain(value: Any, *, with_scale: bool = False) -> Any:
    """Give a value in which equal numbers are equal, and neither texts nor truth values."""
    if isinstance(value, Decimal):
        return "number", format(value if with_scale else _LONG.normalize(value), "f")
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return value

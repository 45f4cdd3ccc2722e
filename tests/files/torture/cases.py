"""A case: the trap, the options, and the exact outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True, slots=True)
class Case:
    """
    One file and its outcome.

    ``fields`` lists the names of the fields with their types, and ``records`` the
    values of each record in that order, as ``datastore_search`` returns them; or ``failure`` is the
    whole message.  ``notices`` are the load's notices, ``row_errors`` its bad rows as
    (line, field, value, reason), ``labels`` the labels that differ from the names.
    """

    file: str
    trap: str
    options: LoadOptions = field(default_factory=LoadOptions)
    fields: str = ""
    records: Sequence[Sequence[Any]] = ()
    failure: str | LoadFailed = ""
    notices: Sequence[str] = ()
    row_errors: Sequence[tuple[int, str, str, str]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The path of the file."""
        return FILES / self.file


def explain_skipped_rows(count: int) -> str:
    return f"Rows that could not be loaded and were left out: {count}."


def explain_text(field: str, count: int, of: int, line: int, values: str) -> str:
    """Explain why a field of numbers is text."""
    return (
        f"Field “{field}”: text: all values look like numbers, but {count} of {of}, the first in"
        f" line {line}: {values}."
    )

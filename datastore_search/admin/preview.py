"""What was found in the file of a draft, as the preview shows it: in the reader's language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext

from ..exceptions.loads import LoadFailed
from ..loading.typing.field_formats import field_formats as types
from ..messages import Message, Notice
from ..models import Load, Mode
from .display import grouped


@dataclass(frozen=True, slots=True)
class FoundField:
    """A field of the file; ``input`` asks for another type, ``before`` is what it was so far."""

    name: str
    label: str
    type: str
    reason: str
    values: Sequence[str]
    before: str
    is_new: bool
    input: forms.BoundField


@dataclass(frozen=True, slots=True)
class BadRowFound:
    """A value that cannot be loaded, or a row."""

    line: str
    field: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """All of it; ``kept`` is what ``loading.drafts`` has kept."""

    load: Load
    kept: Mapping[str, Any]

    @property
    def failure(self) -> str:
        """Say why the file cannot be loaded at all."""
        kept = self.kept.get("failure")
        return str(LoadFailed.from_json(kept)) if kept else ""

    @property
    def mark(self) -> str:
        """Tell this preview from others of the draft."""
        return hashlib.sha256(json.dumps(self.kept, sort_keys=True).encode()).hexdigest()

    @property
    def names(self) -> list[str]:
        """Name the fields of the file."""
        return [field["name"] for field in self.kept.get("fields", ())]

    @property
    def count(self) -> str:
        """Count the rows."""
        return grouped(self.kept.get("total", 0))

    @property
    def faults(self) -> int:
        """Count the rows that cannot be loaded."""
        return int(self.kept.get("faulty", 0))

    @property
    def notices(self) -> list[str]:
        """Say what a person should know of how the file was understood."""
        notices = (Notice.from_json(stored) for stored in self.kept.get("notices", ()))
        return [str(notice) for notice in notices if notice]

    @property
    def missing(self) -> Sequence[str]:
        """Name the resource's fields that the file lacks."""
        return list(self.kept.get("missing", ()))

    @property
    def replaces(self) -> bool:
        """Tell whether the fields would go with the records."""
        return self.load.mode == Mode.REPLACE

    @property
    def rows(self) -> Sequence[Sequence[str | None]]:
        """Give the first rows."""
        return list(self.kept.get("rows", ()))

    @property
    def bad(self) -> list[BadRowFound]:
        """List the first values that cannot be loaded."""
        return [
            BadRowFound(
                line=grouped(row["line"]),
                field=row["field"],
                value=row["value"],
                reason=_render(row["reason"]),
            )
            for row in self.kept.get("faults", ())
        ]

    @property
    def bad_caption(self) -> str:
        """Say that not all are listed, if so."""
        listed = self.kept.get("faults", ())
        if len({row["line"] for row in listed}) >= self.faults:
            return ""
        return gettext(
            "These are the first; the report of the load lists more of the %(count)s bad rows."
        ) % {"count": grouped(self.faults)}

    def fields(self, form: forms.Form) -> list[FoundField]:
        """List the fields, with what the form asks of each."""
        return [
            FoundField(
                name=field["name"],
                label=field["label"] if field["label"] != field["name"] else "",
                type=_title(field["form"]),
                reason=_render(field["reason"]),
                values=field["values"],
                before=field["before"],
                is_new=field["is_new"],
                input=form[f"type_{place}"],
            )
            for place, field in enumerate(self.kept.get("fields", ()))
        ]


def found_in(load: Load) -> Found | None:
    """Give what was found in the file of a draft; None while nobody has looked."""
    return None if load.preview is None else Found(load, load.preview)


def _title(name: str) -> str:
    return str(types[name].title) if name in types else name


def _render(stored: dict[str, Any] | None) -> str:
    return str(Message.from_json(stored) or "") if stored else ""

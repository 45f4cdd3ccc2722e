"""The stored preview of a draft, rendered in the user's language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from ....messages.numbers import format_count
from ..formats.options import Kind
from ..messages import render_messages
from ..messages.failures import LoadFailed, UnknownType
from ..types.chosen_formats import parse_field_format
from ..types.options import load_options
from .forms import PreviewForm


@dataclass(frozen=True, slots=True)
class Offer:
    """A value for an option of the load that the preview offers."""

    option: str
    value: Any
    label: str


@dataclass(frozen=True, slots=True)
class DraftPreview:
    """The preview of a draft; ``stored`` is the JSON that ``loading.jobs.drafts`` stores."""

    stored: Mapping[str, Any]

    @property
    def failure(self) -> str:
        """Why the file cannot be loaded; empty if it can."""
        stored = self.stored.get("failure")
        return str(LoadFailed.from_json(stored)) if stored else ""

    @property
    def offers(self) -> list[Offer]:
        """What was recognised in the file, and can be chosen by one click."""
        failure = self.stored.get("failure") or {}
        found = [failure, *self.stored.get("notices", ())]
        return [
            offer
            for notice in found
            for offer in _make_offers(notice.get("code"), notice.get("parameters", {}))
        ]

    @property
    def digest(self) -> str:
        """A digest of this preview, different for each preview of the draft."""
        return hashlib.sha256(json.dumps(self.stored, sort_keys=True).encode()).hexdigest()

    @property
    def field_names(self) -> list[str]:
        """The names of the file's fields."""
        return [field["name"] for field in self.stored.get("fields", ())]

    @property
    def row_count(self) -> str:
        """The number of rows."""
        return format_count(self.stored.get("row_count", 0))

    @property
    def bad_row_count(self) -> int:
        """The number of rows that cannot be loaded."""
        return int(self.stored.get("bad_row_count", 0))

    @property
    def notices(self) -> list[str]:
        """Notices on how the file was read."""
        return render_messages(self.stored.get("notices", ()))

    @property
    def bad_rows(self) -> list[dict[str, Any]]:
        """The first values that cannot be loaded."""
        return [
            {**row, "line": format_count(row["line"]), "reason": _render_message(row["reason"])}
            for row in self.stored.get("row_errors", ())
        ]

    @property
    def bad_rows_caption(self) -> str:
        """A note that not all bad rows are listed; empty if all are."""
        listed = self.stored.get("row_errors", ())
        if len({row["line"] for row in listed}) >= self.bad_row_count:
            return ""
        return gettext(
            "These are the first of %(count)s bad rows; the load’s report lists more."
        ) % {"count": format_count(self.bad_row_count)}

    def build_fields(self, form: PreviewForm) -> list[dict[str, Any]]:
        """List the fields that the form has an input of, with that input."""
        fields = self.stored.get("fields", ())
        return [
            {
                **fields[position],
                "label": fields[position]["label"] if fields[position]["label"] != name else "",
                "type": _get_type_title(fields[position]["format"]),
                "reason": _render_message(fields[position]["explanation"]),
                "input": form[f"type_{position}"],
            }
            for position, name in form.shown
        ]


def _make_offers(code: str, parameters: Mapping[str, Any]) -> Iterator[Offer]:
    """Make the offers that belong to a notice, or to the reason why the file cannot be loaded."""
    for name, option in load_options.items():
        if offer := option.offers.get(code):
            for value, label in offer.list_choices(parameters):
                yield Offer(name, int(value) if option.kind is Kind.NUMBER else value, label)


def _get_type_title(name: str) -> str:
    try:
        return str(parse_field_format(name).title)
    except UnknownType:
        return name


def _render_message(stored: dict[str, Any] | None) -> str:
    return "".join(render_messages([stored] if stored else ()))

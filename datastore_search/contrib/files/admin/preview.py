"""The stored preview of a draft, rendered in the user's language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from ....messages.numbers import format_count
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


def build_preview_context(stored: Mapping[str, Any]) -> dict[str, Any]:
    """
    Build what the page of a draft shows of its preview, which ``jobs.drafts`` stores as JSON.

    ``digest`` is different for each preview of the draft; ``offers`` are what was recognised in the
    file, and can be chosen by one click.
    """
    failure, notices = stored.get("failure"), stored.get("notices", ())
    bad_rows, bad_row_count = stored.get("row_errors", ()), stored.get("bad_row_count", 0)
    context = {
        "digest": hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest(),
        "failure": str(LoadFailed.from_json(failure)) if failure else "",
        "notices": render_messages(notices),
        "offers": [
            offer
            for each in (failure or {}, *notices)
            for offer in _make_offers(each.get("code"), each.get("parameters", {}))
        ],
        "field_names": [field["name"] for field in stored.get("fields", ())],
        "missing": stored.get("missing", ()),
        "rows": stored.get("rows", ()),
        "row_count": format_count(stored.get("row_count", 0)),
        "bad_row_count": bad_row_count,
        "bad_rows": [
            {**row, "line": format_count(row["line"]), "reason": _render_message(row["reason"])}
            for row in bad_rows
        ],
    }
    if len({row["line"] for row in bad_rows}) < bad_row_count:
        text = gettext("These are the first of %(count)s bad rows; the load’s report lists more.")
        context["bad_rows_caption"] = text % {"count": format_count(bad_row_count)}
    return context


def build_fields(stored: Mapping[str, Any], form: PreviewForm) -> list[dict[str, Any]]:
    """List the fields of a stored preview that the form has an input of, with that input."""
    fields = stored.get("fields", ())
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
                yield Offer(name, value, label)


def _get_type_title(name: str) -> str:
    try:
        return str(parse_field_format(name).title)
    except UnknownType:
        return name


def _render_message(stored: dict[str, Any] | None) -> str:
    return "".join(render_messages([stored] if stored else ()))

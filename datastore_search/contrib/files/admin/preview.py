"""The stored preview of a draft, rendered in the user's language."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.utils.translation import gettext

from ....field_types import label_type
from ....messages.numbers import format_count
from ..formats.options import Kind
from ..messages import render_messages
from ..messages.failures import LoadFailed
from ..types.options import load_options
from .forms import PreviewForm, describe_type

#: The fields that one button names; it may choose the types of more.
_MAX_NAMED_FIELDS = 5

#: The parameters of messages that are names of formats, which may be offered.
_FORMATS = ("one", "other")


@dataclass(frozen=True, slots=True)
class Offer:
    """A value for an option of the load that the preview offers; ``key`` is what a button sends."""

    option: str
    key: str
    value: Any
    label: str

    def apply(self, chosen: Any) -> Any:
        """Return the option with this value: it is added to texts, and to types of fields."""
        if isinstance(self.value, dict):
            return {**chosen, **self.value}
        return (*chosen, *self.value) if isinstance(self.value, tuple) else self.value


def build_preview_context(stored: Mapping[str, Any]) -> dict[str, Any]:
    """
    Build what the page of a draft shows of its preview, which ``jobs.drafts`` stores as JSON.

    ``digest`` is different for each preview of the draft; ``findings`` are what is odd about the
    file, and ``offers`` all that can be chosen by one click.
    """
    failure, fields = stored.get("failure"), stored.get("fields", ())
    bad_rows, bad_row_count = stored.get("row_errors", ()), stored.get("bad_row_count", 0)
    findings = list(_list_findings(stored.get("notices", ()), fields))
    errors = {offer.key: offer for row in bad_rows for offer in _make_offers(row["reason"])}
    failed = list(_make_offers(failure or {}))
    last_rows, row_count = stored.get("last_rows", ()), stored.get("row_count", 0)
    between = row_count - len(stored.get("rows", ())) - len(last_rows)
    context = {
        "digest": hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest(),
        "failure": {"text": LoadFailed.from_json(failure), "offers": failed} if failure else None,
        "findings": findings,
        "offers": [*chain(failed, *(each["offers"] for each in findings), errors.values())],
        "field_names": [field["name"] for field in fields],
        "missing": stored.get("missing", ()),
        "rows": stored.get("rows", ()),
        "last_rows": last_rows,
        "rows_between": format_count(between) if between else "",
        "row_count": format_count(row_count),
        "bad_row_count": bad_row_count,
        "bad_rows": [
            {**row, "line": format_count(row["line"]), "reason": render_in_words(row["reason"])}
            for row in bad_rows
        ],
        "bad_row_offers": list(errors.values()),
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
            "found": render_in_words(fields[position]["explanation"])
            or describe_type(fields[position]["format"]),
            "before": label_type(fields[position]["before"]),
            "input": form[f"type_{position}"],
        }
        for position, name in form.shown
    ]


def _list_findings(
    notices: Sequence[dict[str, Any]], fields: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """List what is odd: notices, and fields that may have another type, each with its offers."""
    offered: set[str] = set()
    typed: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    explained = [(each["name"], each["explanation"]) for each in fields if each["explanation"]]
    for field, message in (*(("", notice) for notice in notices), *explained):
        parameters = message["parameters"]
        formats = (
            *parameters.get("formats", ()),
            *(parameters[name] for name in _FORMATS if name in parameters),
        )
        offers = [offer for offer in _make_offers(message) if offer.key not in offered]
        offered.update(offer.key for offer in offers)
        finding = {"field": field, "text": render_in_words(message), "offers": offers}
        if formats:
            typed.setdefault(formats, {}).setdefault(field or parameters["field"], finding)
        elif finding["text"] and (offers or not field):
            yield finding
    for formats, found in typed.items():
        offers = [_offer_type(name, list(found)) for name in formats]
        yield {**next(iter(found.values())), "offers": offers}


def _offer_type(name: str, fields: Sequence[str]) -> Offer:
    """Offer a type for fields whose values it fits."""
    listed = ", ".join(f"“{field}”" for field in fields[:_MAX_NAMED_FIELDS])
    label = gettext("Read %(fields)s as %(type)s") % {
        "fields": f"{listed}, …" if len(fields) > _MAX_NAMED_FIELDS else listed,
        "type": describe_type(name),
    }
    return Offer("types", f"{fields[0]}={name}", dict.fromkeys(fields, name), label)


def _make_offers(message: Mapping[str, Any]) -> Iterator[Offer]:
    """Make the offers that belong to a message, or to the reason why a file cannot be loaded."""
    for name, option in load_options.items():
        if offer := option.offers.get(message.get("code", "")):
            choices = list(offer.list_choices(message["parameters"]))
            if option.kind is Kind.TEXTS and choices:  # all of them at once
                texts = tuple(value for value, _label in choices)
                label = str(offer.label) % {"name": ", ".join(f"“{text}”" for text in texts)}
                yield Offer(name, texts[0], texts, label)
            else:
                yield from (Offer(name, str(value), value, label) for value, label in choices)


def render_in_words(stored: dict[str, Any] | None) -> str:
    """Render a stored message with formats in words; empty for none, or an unknown code."""
    return "".join(render_messages([_use_words(stored)] if stored else ()))


def _use_words(stored: Any, name: str = "") -> Any:
    """Replace the names of formats among the parameters of a stored message by words."""
    if isinstance(stored, dict):
        return {each: _use_words(value, each) for each, value in stored.items()}
    return describe_type(stored) if name in {*_FORMATS, "chosen"} else stored

"""What the page *About* says of a resource as a source: how to cite it, and what is not stated."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localdate
from django.utils.translation import gettext as _

from ...conf import conf
from ...messages.bidi import show_bidi_controls
from ...web.addresses import reverse_in_locale
from ..catalogue.models import get_metadata
from .sections import PageQuestion, Place, Section
from .values import Phrase, compose_phrase, mark_text

_SPECIAL = re.compile(r"[\\{}$&#%_^~]")


def _cite(question: PageQuestion) -> Mapping[str, Any]:
    """Cite the present version: in a sentence, in BibTeX and in CSL-JSON."""
    resource, request = question.read.resource, question.request
    metadata = get_metadata(resource)
    dataset = metadata.part_of or metadata
    owner = dataset.owner.shown_title if dataset.owner else ""
    publisher = metadata.publisher or dataset.publisher or owner
    publisher = show_bidi_controls(publisher or conf.SITE_TITLE or _("Datastore"))
    language = resource.content_language if metadata.publisher or dataset.publisher else ""
    # A version is the time of the change in microseconds.
    moment = datetime.fromtimestamp(resource.version // 1_000_000, UTC)
    title, version, day = str(resource), f"{moment:%Y-%m-%dT%H:%M:%SZ}", localdate(moment)
    address = request.build_absolute_uri(reverse_in_locale(request, "resource", resource.pk))
    parts: dict[str, Phrase | str] = {
        "publisher": mark_text(publisher, language),
        "title": mark_text(title, resource.local_title.language),
        "date": date_format(day, "DATE_FORMAT"),
        "version": version,
        "address": address,
    }
    members = {
        "title": title,
        "author": publisher,
        "publisher": publisher,
        "year": f"{day.year}",
        "month": f"{day.month}",
        "day": f"{day.day}",
        "version": version,
    }
    lines = [f"  {name} = {{{{{_escape_tex(text)}}}}}," for name, text in members.items()]
    csl = {
        "id": str(resource.pk),
        "type": "dataset",
        "title": title,
        "author": [{"literal": publisher}],
        "publisher": publisher,
        "issued": {"date-parts": [[day.year, day.month, day.day]]},
        "version": version,
        "URL": address,
    }
    sentence = _("%(publisher)s: %(title)s. Version %(version)s, %(date)s. %(address)s")
    return {
        "sentence": compose_phrase(sentence, **parts).html,
        "formats": [
            (
                "BibTeX",
                "\n".join([f"@misc{{{resource.pk},", *lines, f"  url = {{{address}}}", "}"]),
            ),
            ("CSL-JSON", json.dumps([csl], ensure_ascii=False, indent=2)),
        ],
    }


def _escape_tex(text: str) -> str:
    """Escape a text for BibTeX; what stands for a letter in TeX becomes a command."""
    commands = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return _SPECIAL.sub(lambda found: commands.get(found[0], f"\\{found[0]}"), text)


def _list_unstated(question: PageQuestion) -> Mapping[str, Any] | None:
    metadata = get_metadata(question.read.resource)
    stated = (metadata, metadata.part_of or metadata)
    missing = {
        "license": not any(each.license for each in stated),
        "contact": not any(each.contact or each.contact_email for each in stated),
    }
    return missing if any(missing.values()) else None


SECTIONS = (
    Section("unstated", Place.ABOUT, "datastore_search/_unstated.html", _list_unstated),
    Section("cite", Place.ABOUT, "datastore_search/_cite.html", _cite),
)

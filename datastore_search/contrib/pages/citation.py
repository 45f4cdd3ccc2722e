"""What the page *About* says of a resource as a source: how to cite it, and what is not stated."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.timezone import localdate
from django.utils.translation import gettext as _

from ...conf import conf
from ...messages.texts import show_bidi_controls
from ...models import Resource
from ...web.addresses import reverse_in_locale
from ..catalogue.descriptions import complete_metadata
from .sections import PageQuestion, Place, Section
from .values import compose_phrase, format_day, mark_text

_SPECIAL = re.compile(r"[\\{}$&#%_^~]")


def find_publisher(resource: Resource) -> tuple[str, str]:
    """Find who publishes a resource, with the language: the portal if nobody is stated."""
    publisher = complete_metadata(resource).publisher
    language = resource.content_language if publisher else ""
    return show_bidi_controls(publisher or conf.SITE_TITLE or _("Datastore")), language


def _cite(question: PageQuestion) -> Mapping[str, Any]:
    """Cite the present version: in a sentence, in BibTeX and in CSL-JSON."""
    resource, request = question.read.resource, question.request
    publisher, language = find_publisher(resource)
    # A version is the time of the change in microseconds.
    moment = datetime.fromtimestamp(resource.version // 1_000_000, UTC)
    title, version, day = str(resource), f"{moment:%Y-%m-%dT%H:%M:%SZ}", localdate(moment)
    address = request.build_absolute_uri(reverse_in_locale(request, "resource", resource.pk))
    sentence = compose_phrase(
        _("%(publisher)s: %(title)s. Version %(version)s, %(date)s. %(address)s"),
        publisher=mark_text(publisher, language),
        title=mark_text(title, resource.local_title.language),
        date=format_day(day),
        version=mark_text(version),
        address=mark_text(address),
    )
    dates = {"year": day.year, "month": day.month, "day": day.day}
    known = {"title": title, "author": publisher, "publisher": publisher, "version": version}
    members = known | {name: f"{number}" for name, number in dates.items()}
    lines = [f"  {name} = {{{{{_escape_tex(text)}}}}}," for name, text in members.items()]
    bibtex = "\n".join([f"@misc{{{resource.pk},", *lines, f"  url = {{{address}}}", "}"])
    csl: dict[str, Any] = {"id": str(resource.pk), "type": "dataset", **known, "URL": address}
    csl |= {"author": [{"literal": publisher}], "issued": {"date-parts": [[*dates.values()]]}}
    csl_json = json.dumps([csl], ensure_ascii=False, indent=2)
    return {"sentence": sentence.html, "formats": [("BibTeX", bibtex), ("CSL-JSON", csl_json)]}


def _escape_tex(text: str) -> str:
    """Escape a text for BibTeX; what stands for a letter in TeX becomes a command."""
    commands = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return _SPECIAL.sub(lambda found: commands.get(found[0], f"\\{found[0]}"), text)


def _list_unstated(question: PageQuestion) -> Mapping[str, Any] | None:
    known = complete_metadata(question.read.resource)
    texts = {
        _("No licence is stated"): known.license,
        _("No contact is stated"): known.contact or known.contact_email,
        _("No date is stated"): known.version_date or known.temporal_start or known.temporal_end,
    }
    missing = [text for text, stated in texts.items() if not stated]
    return {"missing": missing} if missing else None


SECTIONS = (
    Section("unstated", Place.ABOUT, "datastore_search/_unstated.html", _list_unstated),
    Section("cite", Place.ABOUT, "datastore_search/_cite.html", _cite),
)

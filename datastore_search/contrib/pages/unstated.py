"""What nobody has stated of a resource, which its page *About* says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..catalogue.models import get_metadata
from .sections import PageQuestion, Place, Section


def _list_unstated(question: PageQuestion) -> Mapping[str, Any] | None:
    metadata = get_metadata(question.read.resource)
    stated = (metadata, metadata.part_of or metadata)
    missing = {
        "license": not any(each.license for each in stated),
        "contact": not any(each.contact or each.contact_email for each in stated),
    }
    return missing if any(missing.values()) else None


SECTIONS = (Section("unstated", Place.ABOUT, "datastore_search/_unstated.html", _list_unstated),)

"""The names of fields, made from a header's own words."""

from __future__ import annotations

import re
import unicodedata


def unique_names(header: tuple[str, ...]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty one is named after its place, a repeated one gets a number, and ``_id`` is taken.
    """
    taken = {"_id"}
    names = []
    for place, label in enumerate(header, start=1):
        name = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", unicodedata.normalize("NFC", label)).strip()
        name = name[:200].strip() or f"field_{place}"
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        names.append(candidate)
    return tuple(names)

"""Parts of a resource's fields: Django limits inputs (``DATA_UPLOAD_MAX_NUMBER_FIELDS``)."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

#: The parameter of the query string with the number of a part, from 1.
PART = "part"

#: The inputs of a form that are not of fields: texts of the resource, aliases, choices.
_OTHER_INPUTS = 200

#: A form of more fields takes seconds to build, and megabytes.
MAX_FIELDS_PER_PART = 400


@dataclass(frozen=True, slots=True)
class FieldPart:
    """Some fields of a resource, in order: their numbers from 1."""

    number: int
    first: int
    last: int
    is_shown: bool

    @property
    def link(self) -> str:
        """The address of the form for these fields, relative to that for others."""
        return f"?{PART}={self.number}"

    @property
    def rows(self) -> slice:
        """The fields among all of the resource."""
        return slice(self.first - 1, self.last)


def split_fields(request: HttpRequest, count: int, inputs: int) -> list[FieldPart]:
    """Split the fields of a form with ``inputs`` inputs per field; one part is shown."""
    most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    size = count if most is None else (most - _OTHER_INPUTS) // inputs
    size = min(max(size, 1), MAX_FIELDS_PER_PART)
    starts = range(0, max(count, 1), size)
    number = request.GET.get(PART, "1")
    shown = int(number) if number.isdecimal() and len(number) <= len(str(count)) else 1
    shown = min(max(shown, 1), len(starts))
    return [
        FieldPart(number, start + 1, min(start + size, count), number == shown)
        for number, start in enumerate(starts, 1)
    ]


def get_shown_rows(parts: list[FieldPart]) -> slice:
    """Return the fields of the part that is shown."""
    (shown,) = (part for part in parts if part.is_shown)
    return shown.rows

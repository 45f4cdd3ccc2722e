"""
Split the fields of a resource over several forms.

Django limits the inputs of one form (``DATA_UPLOAD_MAX_NUMBER_FIELDS``).
"""

from __future__ import annotations

from django.conf import settings
from django.core.paginator import Page, Paginator
from django.http import HttpRequest

#: The inputs of a form that are not of fields: texts of the resource, aliases, choices.
_OTHER_INPUTS = 200

#: A form of more fields takes seconds to build, and megabytes.
MAX_FIELDS_PER_PART = 400


def split_fields(request: HttpRequest, count: int, inputs: int) -> Page[int]:
    """Return the fields that a form with ``inputs`` inputs per field shows, by their positions."""
    most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    size = MAX_FIELDS_PER_PART if most is None else (most - _OTHER_INPUTS) // inputs
    size = min(max(size, 1), MAX_FIELDS_PER_PART)
    return Paginator(range(count), size).get_page(request.GET.get("part", 1))


def get_shown_rows(part: Page[int]) -> slice:
    """Return the fields of a part, among all of the resource."""
    return slice(max(part.start_index() - 1, 0), part.end_index())

"""Links to the app's pages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

Parameters = Iterable[tuple[str, str]]


def add_query_string(path: str, parameters: Parameters) -> str:
    """Append parameters to a path as a query string; without parameters the path is unchanged."""
    query = urlencode(list(parameters))
    return f"{path}?{query}" if query else path


def reverse_first(*names: str) -> str:
    """Return the path of the first of some URLs that the portal has; empty if it has none."""
    for name in names:
        with suppress(NoReverseMatch):
            return reverse(name)
    return ""

"""Links to the app's pages."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from ...web.addresses import keep_locale

Parameters = Iterable[tuple[str, str]]

#: The names of viewers in the documentation of drf-spectacular.
_VIEWER_NAMES = ("swagger-ui", "redoc")


def add_query_string(path: str, parameters: Parameters) -> str:
    """Append parameters to a path as a query string; without parameters the path is unchanged."""
    query = urlencode(list(parameters))
    return f"{path}?{query}" if query else path


def find_viewer_path(request: HttpRequest) -> str:
    """Find the path of the viewer of the OpenAPI document; empty if the portal has none."""
    for name in _VIEWER_NAMES:
        try:
            return keep_locale(request, reverse(name))
        except NoReverseMatch:
            continue
    return ""

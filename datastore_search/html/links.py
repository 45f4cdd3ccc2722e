"""Links to the app's pages, under the locale of the request as its path spells it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, reverse

Parameters = Iterable[tuple[str, str]]


def reverse_in_locale(request: HttpRequest, name: str, *arguments: object) -> str:
    """
    Return the path of one of the app's URLs, with the request's own spelling of the locale.

    Django reverses to ``/en-gb/``; a link on a page at ``/en_GB/`` stays below ``/en_GB/``.
    """
    match = request.resolver_match
    path = reverse(
        f"datastore_search:{name}", args=arguments, current_app=match.namespace if match else None
    )
    script = get_script_prefix()
    resolved = f"{script}{_get_first_part(request.path_info)}"
    requested = f"{script}{_get_first_part('/' + request.path.removeprefix(script))}"
    return requested + path.removeprefix(resolved) if path.startswith(f"{resolved}/") else path


def add_query_string(path: str, parameters: Parameters) -> str:
    """Append parameters to a path as a query string; without parameters the path is unchanged."""
    query = urlencode(list(parameters))
    return f"{path}?{query}" if query else path


def find_search_path(request: HttpRequest) -> str:
    """Find the path of ``datastore_search``; empty if the portal has no API."""
    return _find_path(request, "action", "datastore_search")


def find_reference_path(request: HttpRequest) -> str:
    """Find the path of the API's reference; empty if the portal has no API."""
    return _find_path(request, "api-reference") if find_search_path(request) else ""


def _find_path(request: HttpRequest, name: str, *arguments: object) -> str:
    try:
        return reverse_in_locale(request, name, *arguments)
    except NoReverseMatch:
        return ""


def _get_first_part(path: str) -> str:
    return path.split("/", 2)[1]

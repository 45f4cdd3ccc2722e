"""Addresses of the app, under the locale of the request as it was spelled."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse

Parameters = Iterable[tuple[str, str]]


def link(request: HttpRequest, name: str, *arguments: object) -> str:
    """
    Give the path of one of the app's addresses.

    Django knows ``/en-gb/`` only; whoever came by ``/en_GB/`` stays there.
    """
    match = request.resolver_match
    path = reverse(
        f"datastore_search:{name}", args=arguments, current_app=match.namespace if match else None
    )
    script = get_script_prefix()
    known = f"{script}{_first_part(request.path_info)}"
    spelled = f"{script}{_first_part('/' + request.path.removeprefix(script))}"
    return spelled + path.removeprefix(known) if path.startswith(f"{known}/") else path


def with_query(path: str, parameters: Parameters) -> str:
    """Append a query string, if there is anything to say."""
    query = urlencode(list(parameters))
    return f"{path}?{query}" if query else path


def _first_part(path: str) -> str:
    return path.split("/", 2)[1]

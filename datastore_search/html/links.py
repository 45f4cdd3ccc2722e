"""Links to the app's pages, under the locale of the request as its path spells it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse

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


def find_sign_in_address(request: HttpRequest) -> str:
    """
    Return the address of the portal's sign-in page, which leads back to this one.

    Empty for an authenticated user, and where ``LOGIN_URL`` leads nowhere.
    """
    if request.user.is_authenticated:
        return ""
    try:
        address = resolve_url(settings.LOGIN_URL)
        resolve(urlsplit(address).path)
    except (NoReverseMatch, Resolver404):
        return ""
    return add_query_string(address, [(REDIRECT_FIELD_NAME, request.get_full_path())])


def _get_first_part(path: str) -> str:
    return path.split("/", 2)[1]

"""
Addresses of the app: below the script, the host and the locale that the client called.

The language of a request is that of its path, in any spelling of the locale.

Django takes the script from ``SCRIPT_NAME`` or ``FORCE_SCRIPT_NAME``, the host from ``Host``; where
the portal trusts its proxy (``USE_X_FORWARDED_HOST``, ``SECURE_PROXY_SSL_HEADER``), both host and
scheme from the headers of the proxy.  Nothing here reads a header.
"""

from __future__ import annotations

import locale
import re
import uuid
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote, urlencode

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils import translation
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import get_languages
from rest_framework.request import Request

from ..contributions import Table

#: The fixed parts of paths, between the base that a client calls and the part that varies.
_ROUTES = (
    "api/3/action/",
    "api/action/",
    "api/3/",
    "api/3",
    "datastore/dump/",
    *("api", "datastore/dump"),  # of addresses that do not exist
)

#: The URLs that describe a resource, their media types, and what they are.
_DESCRIPTIONS: Final = (
    ("schema", "application/json", "Table Schema"),
    ("data-package", "application/json", "Data Package"),
)

#: A stand-in for the id of a resource, as one address is built for all of them.
_ANY_ID: Final = uuid.UUID(int=0)


#: A language with up to three subtags; longer names are not languages, and are not cached.
TAG: Final = re.compile(r"/([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3})(?:/.*)?", re.DOTALL)


#: Modules with ``urlpatterns``, whose names are in the namespace ``datastore_search``.
routes: Table[str] = Table("addresses", str)


def find_path_language(path: str) -> str | None:
    """Find the language at the start of a path, in Django's spelling."""
    match = TAG.fullmatch(path)
    return find_language(match[1], tuple(get_languages())) if match else None


@lru_cache(maxsize=1000)
def find_language(tag: str, codes: tuple[str, ...]) -> str | None:
    """
    Find the enabled language of a locale's name, in Django's spelling; None if there is none.

    ``en_GB`` is ``en-gb``; ``ko_KR``, a language with one of its territories, is ``ko``; ``en_XX``
    is None.
    """
    plain = tag.replace("_", "-").lower()
    by_lower = {code.lower(): code for code in codes}
    if plain in by_lower:
        return by_lower[plain]
    language, *_, territory = plain.split("-") if "-" in plain else (plain, "")
    if f"{language}_{territory}" not in locale.locale_alias:
        return None
    try:
        variant = get_supported_language_variant(plain)
    except LookupError:
        return None
    # Django maps pt-pt to pt-br; its own names, such as zh-cn, it maps correctly.
    return variant if plain.startswith(variant) or plain in LANG_INFO else None


def find_base_path(request: HttpRequest | Request) -> str:
    """
    Find the path of the base that a client of the API called: ``/portal/vi/`` or ``/``.

    It is what remains of the path without the route, from the end; a prefix may itself contain
    ``/api/``.  The locale is spelled as in the request.
    """
    path: str = request.path
    match = request.resolver_match
    for value in match.kwargs.values() if match else ():
        path = path.removesuffix(str(value))
    for route in _ROUTES:
        if path.endswith(f"/{route}"):
            return path.removesuffix(route)
    return path


def build_help_address(request: HttpRequest | Request, action: str) -> str:
    path = quote(f"{find_base_path(request)}api/3/action/help_show")
    return request.build_absolute_uri(f"{path}?{urlencode({'name': action})}")


def build_site_address(request: HttpRequest | Request) -> str:
    """Build the absolute address of the portal, without a locale and without a slash at its end."""
    return request.build_absolute_uri(f"{request.META.get('SCRIPT_NAME', '')}/").rstrip("/")


def reverse_in_locale(request: HttpRequest | Request, name: str, *arguments: object) -> str:
    """
    Return the path of one of the app's URLs, with the request's own spelling of the locale.

    Django reverses to ``/en-gb/``; a link on a page at ``/en_GB/`` stays below ``/en_GB/``.

    Raises: ``NoReverseMatch`` if the portal does not include the URL.
    """
    match = request.resolver_match
    try:
        current_app = match.namespace if match else None
        path = reverse(f"datastore_search:{name}", args=arguments, current_app=current_app)
    except NoReverseMatch:  # the portal includes it elsewhere, as the API without a locale
        path = reverse(f"datastore_search:{name}", args=arguments)
    return keep_locale(request, path)


def find_path(request: HttpRequest | Request, name: str, *arguments: object) -> str:
    """Find the path of one of the app's URLs; empty if the portal does not include it."""
    try:
        return reverse_in_locale(request, name, *arguments)
    except NoReverseMatch:
        return ""


def keep_locale(request: HttpRequest | Request, path: str) -> str:
    script = get_script_prefix()
    resolved = script + request.path_info.split("/", 2)[1]
    requested = script + request.path.removeprefix(script).split("/", 1)[0]
    return requested + path.removeprefix(resolved) if path.startswith(f"{resolved}/") else path


class ResourceAddresses:
    """Build absolute addresses of resources for one request, with one look-up for each URL."""

    def __init__(self, request: HttpRequest | Request) -> None:
        self._request = request
        self._find_pattern = cache(self._build_pattern)

    def build(self, name: str, resource_id: uuid.UUID, language: str = "") -> str:
        """Build the address of a URL, by default in the active language; empty if not included."""
        return self._find_pattern(name, language).replace(str(_ANY_ID), str(resource_id))

    def build_file(self, *arguments: object) -> str:
        """Build the address of a file from ids and its name; empty if the URL is not included."""
        path = find_path(self._request, "file", *arguments)
        return self._request.build_absolute_uri(path) if path else ""

    def build_page(self, resource_id: uuid.UUID, language: str = "") -> str:
        """Build the address of the page; of the dump where the portal has no pages."""
        page = self.build("resource", resource_id, language)
        return page or self.build("dump", resource_id, language)

    def build_identifier(self, resource_id: uuid.UUID) -> str:
        """Build the address of the page in the portal's default language: one for all languages."""
        return self.build_page(resource_id, settings.LANGUAGE_CODE)

    def build_link_header(self, resource_id: uuid.UUID) -> str:
        """Build the header ``Link`` (RFC 8288), which leads to a resource's descriptions."""
        return ", ".join(
            f'<{address}>; rel="describedby"; type="{media_type}"; title="{title}"'
            for name, media_type, title in _DESCRIPTIONS
            if (address := self.build(name, resource_id))
        )

    def _build_pattern(self, name: str, language: str) -> str:
        with translation.override(language or translation.get_language()):
            path = find_path(self._request, name, _ANY_ID)
        return self._request.build_absolute_uri(path) if path else ""

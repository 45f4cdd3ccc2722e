"""What stands around a page: other languages, the API, and the links to sign in and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import (
    NoReverseMatch,
    Resolver404,
    get_script_prefix,
    resolve,
    translate_url,
)

from ...web.addresses import keep_locale
from ...web.languages import choose_language_codes, get_own_name
from .links import Parameters, add_query_string, reverse_first

#: Of the address to which signing in or out leads back.
MAX_RETURN_LENGTH = 2_000

#: The names of viewers in the documentation of drf-spectacular.
_VIEWER_NAMES = ("swagger-ui", "redoc")

#: The usual names of the page that signs a user out, of which no setting of Django knows.
_SIGN_OUT_NAMES = ("logout", "account_logout")

#: The admin lets only its own users sign out.
_ADMIN_SIGN_OUT_NAME = "admin:logout"


def build_shell(request: HttpRequest, language: str, parameters: Parameters) -> dict[str, Any]:
    """
    Build the links around a page in a language; empty where there is no such page.

    ``parameters`` ask for the same in every language.
    """
    address = request.get_full_path()
    address = address if len(address) <= MAX_RETURN_LENGTH else request.path
    is_authenticated = request.user.is_authenticated
    of_admin = [_ADMIN_SIGN_OUT_NAME] if getattr(request.user, "is_staff", False) else []
    return {
        "language": get_own_name(language),
        "languages": _list_languages(request, language, tuple(parameters)),
        "viewer_address": keep_locale(request, reverse_first(*_VIEWER_NAMES)),
        "sign_in_address": "" if is_authenticated else find_sign_in_address(address),
        "sign_out_address": reverse_first(*_SIGN_OUT_NAMES, *of_admin) if is_authenticated else "",
        "return_address": address,
    }


def _list_languages(
    request: HttpRequest, present: str, parameters: Parameters
) -> list[dict[str, str]]:
    """
    List the languages of the portal in which the page has another address.

    The link keeps the question of the page, the absolute address does not; the link to the present
    language is empty.
    """
    codes = choose_language_codes(present)
    path = f"{get_script_prefix()}{request.path_info.removeprefix('/')}"
    addresses = {code: translate_url(path, code) for code in codes}
    if len(set(addresses.values())) <= 1:  # one language, or none in the path
        return []
    return [
        {
            "code": code,
            "name": get_own_name(code),
            "link": "" if code == present else add_query_string(address, parameters),
            "address": request.build_absolute_uri(address),
        }
        for code, address in addresses.items()
    ]


def find_sign_in_address(return_address: str) -> str:
    """Find the portal's sign-in page, which leads back; empty if ``LOGIN_URL`` leads nowhere."""
    try:
        address = resolve_url(settings.LOGIN_URL)
        resolve(urlsplit(address).path)
    except (NoReverseMatch, Resolver404):
        return ""
    return add_query_string(address, [(REDIRECT_FIELD_NAME, return_address)])

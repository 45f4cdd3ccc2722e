"""What stands around a page: other languages, the API, and the links to sign in and out."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import (
    NoReverseMatch,
    Resolver404,
    get_script_prefix,
    resolve,
    reverse,
    translate_url,
)
from django.utils.translation import get_language_info

from ...web.languages import choose_language_codes
from .links import Parameters, add_query_string, find_viewer_path
from .table.query_string import MAX_REPEATED_LENGTH, Pair

#: Of the address to which signing in or out leads back.
MAX_RETURN_LENGTH = 2_000

#: The usual names of the page that signs a user out, of which no setting of Django knows.
_SIGN_OUT_NAMES = ("logout", "account_logout")

#: The admin lets only its own users sign out.
_ADMIN_SIGN_OUT_NAME = "admin:logout"


@dataclass(frozen=True, slots=True)
class Language:
    """
    A language, its own name, the link to the page in it, and the absolute address of the page.

    The link keeps the question of the page, the address does not; the link to the present language
    is empty.
    """

    code: str
    name: str
    link: str
    address: str


@dataclass(frozen=True, slots=True)
class Shell:
    """
    The links around a page; an address is empty where there is no such page.

    ``question`` is what a form asks for in another language, if that is too long for the links.
    """

    language: str
    languages: tuple[Language, ...]
    viewer_address: str
    sign_in_address: str
    sign_out_address: str
    return_address: str
    question: tuple[Pair, ...] = ()


def build_shell(request: HttpRequest, language: str, parameters: Parameters) -> Shell:
    """
    Build the links around a page in a language.

    ``parameters`` ask for the same in every language.
    """
    address = request.get_full_path()
    address = address if len(address) <= MAX_RETURN_LENGTH else request.path
    is_authenticated = request.user.is_authenticated
    question = tuple(parameters)
    is_long = len(urlencode(question)) > MAX_REPEATED_LENGTH
    return Shell(
        language=_get_own_name(language),
        languages=_list_languages(request, language, () if is_long else question),
        viewer_address=find_viewer_path(request),
        sign_in_address="" if is_authenticated else find_sign_in_address(address),
        sign_out_address=_find_sign_out_address(request) if is_authenticated else "",
        return_address=address,
        question=question if is_long else (),
    )


def _list_languages(
    request: HttpRequest, present: str, parameters: Parameters
) -> tuple[Language, ...]:
    """List the languages of the portal in which the page has another address."""
    codes = choose_language_codes(present)
    path = f"{get_script_prefix()}{request.path_info.removeprefix('/')}"
    addresses = {code: translate_url(path, code) for code in codes}
    if len(set(addresses.values())) <= 1:  # one language, or none in the path
        return ()
    return tuple(
        Language(
            code,
            _get_own_name(code),
            "" if code == present else add_query_string(address, parameters),
            request.build_absolute_uri(address),
        )
        for code, address in addresses.items()
    )


def _get_own_name(code: str) -> str:
    try:
        return str(get_language_info(code)["name_local"])
    except KeyError:  # a language of the portal that Django does not know
        return str(dict(settings.LANGUAGES).get(code, code))


def find_sign_in_address(return_address: str) -> str:
    """Find the portal's sign-in page, which leads back; empty if ``LOGIN_URL`` leads nowhere."""
    try:
        address = resolve_url(settings.LOGIN_URL)
        resolve(urlsplit(address).path)
    except (NoReverseMatch, Resolver404):
        return ""
    return add_query_string(address, [(REDIRECT_FIELD_NAME, return_address)])


def _find_sign_out_address(request: HttpRequest) -> str:
    is_staff = bool(getattr(request.user, "is_staff", False))
    for name in (*_SIGN_OUT_NAMES, *([_ADMIN_SIGN_OUT_NAME] if is_staff else [])):
        try:
            return reverse(name)
        except NoReverseMatch:
            continue
    return ""

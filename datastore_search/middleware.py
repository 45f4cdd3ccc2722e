"""The locale of a request, in any spelling."""

from __future__ import annotations

import locale
import re
from functools import lru_cache
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware import locale as django_locale
from django.utils.translation import get_supported_language_variant

_TAG = re.compile(r"/([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)(/.*|)", re.DOTALL)
_SAFE = ("GET", "HEAD")


class LocaleMiddleware(django_locale.LocaleMiddleware):
    """
    Django's, which also understands ``/en_GB/``, ``/en-GB/`` and ``/zh_Hans_CN/``.

    The path is resolved under the spelling that Django knows, without a redirect; ``request.path``
    keeps what was asked for.  A request that changes something is never redirected to a language.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Resolve the path under Django's spelling of its language."""
        found = _TAG.fullmatch(request.path_info)
        if found:
            tag, rest = found.groups()
            code = language_of(tag, tuple(code for code, _ in settings.LANGUAGES))
            if code and code != tag:
                request.path_info = f"/{code}{rest}"
        super().process_request(request)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Redirect a page that was asked for without a language, as Django does; nothing else."""
        if response.status_code == HTTPStatus.NOT_FOUND and request.method not in _SAFE:
            return response
        return super().process_response(request, response)


@lru_cache(maxsize=1000)
def language_of(tag: str, codes: tuple[str, ...]) -> str | None:
    """
    Find the enabled language that a locale's name means, in Django's spelling; None if none.

    ``en_GB`` is ``en-gb``; ``ko_KR``, a language with one of its territories, is ``ko``; ``en_XX``
    is nothing.
    """
    plain = tag.replace("_", "-").lower()
    by_lower = {code.lower(): code for code in codes}
    if plain in by_lower:
        return by_lower[plain]
    language, *_, territory = plain.split("-") if "-" in plain else (plain, "")
    if f"{language}_{territory}" not in locale.locale_alias:
        return None
    try:
        return get_supported_language_variant(plain)
    except LookupError:
        return None

"""The page that a browser gets in place of a file that cannot be downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from ....web.addresses import find_path
from ....web.errors import ErrorMessage, describe_access_denied, forget_unreadable_user
from ..page import PageView

_TITLES: Mapping[int, str | Promise] = {
    HTTPStatus.FORBIDDEN: gettext_lazy("Access denied"),
    HTTPStatus.NOT_FOUND: gettext_lazy("Not found"),
    HTTPStatus.TOO_MANY_REQUESTS: gettext_lazy("Not available at the moment"),
    HTTPStatus.SERVICE_UNAVAILABLE: gettext_lazy("Not available at the moment"),
}
#: A stand-in for the id of a resource.
_ANY_ID = UUID(int=0)

_TITLE = gettext_lazy("This file cannot be downloaded")

#: The members of an envelope's ``error`` that name nothing that a person has typed.
_UNNAMED = ("message", "query", "format")


def explain_failure(request: HttpRequest, response: Any, error: Mapping[str, Any]) -> None:
    """
    Show the failure of a file as a page to clients that prefer HTML.

    Programs, which accept anything or JSON, get the envelope, as everyone does in a portal without
    the pages.
    """
    patch_vary_headers(response, ("Accept",))
    kind = request.get_preferred_type(["application/json", "text/html"])
    if request.method == "GET" and kind == "text/html" and find_path(request, "resource", _ANY_ID):
        with translation.override(response["Content-Language"]):
            _replace_content(request, response, error)


def _replace_content(request: HttpRequest, response: Any, error: Mapping[str, Any]) -> None:
    forget_unreadable_user(request)
    status = HTTPStatus(response.status_code)
    message = "\n".join(_list_messages(error))
    if status == HTTPStatus.FORBIDDEN:
        message = describe_access_denied(is_authenticated=request.user.is_authenticated)
    view = PageView()
    view.setup(request)
    view.shared_parameters = [
        (name, value) for name, values in request.GET.lists() for value in values
    ]
    page = view.render_error(ErrorMessage(status, str(_TITLES.get(status, _TITLE)), message))
    response.content = page.content
    response["Content-Type"] = page["Content-Type"]
    response["Cache-Control"] = page["Cache-Control"]


def _list_messages(error: Mapping[str, Any]) -> Iterator[str]:
    for name, messages in error.items():
        if name != "__type":
            for message in messages if isinstance(messages, list) else [messages]:
                yield str(message) if name in _UNNAMED else f"{name}: {message}"

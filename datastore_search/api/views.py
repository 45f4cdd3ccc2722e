"""The actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.module_loading import import_string
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ..conf import conf
from ..exceptions import UnknownAction
from ..middleware import path_language
from ..models import Field, Resource
from ..search import Page, answer_from, search
from .body import read_parameters
from .envelope import exception_handler, success
from .parameters import SearchRequest
from .permissions import check_may_read
from .renderers import EnvelopeRenderer, RawJson


class IgnoreAccept(BaseContentNegotiation):
    """Answer in JSON whatever the client says it accepts, as CKAN does."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Take the only renderer."""
        (renderer,) = renderers
        return renderer, renderer.media_type


class ActionView(APIView):
    """
    One address, all actions: ``api/action/<name>``.

    Reading actions answer GET and POST alike.
    """

    http_method_names = ("get", "post", "head", "options")
    permission_classes = ()
    parser_classes = ()
    renderer_classes = (EnvelopeRenderer,)
    content_negotiation_class = IgnoreAccept

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never in that of ``Accept-Language``."""
        language = path_language(request.path_info)
        with translation.override(language or settings.LANGUAGE_CODE):
            response = super().dispatch(request, *args, **kwargs)
            if isinstance(response, Response):
                response.render()
        if request.method == "HEAD":
            _empty(response)
        return response

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Read the setting at each request."""
        return [import_string(path)() for path in conf.AUTHENTICATION_CLASSES]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        """Let every failure leave in the envelope."""
        return exception_handler

    def get(self, request: Request, action: str) -> Response:
        """Answer an action."""
        return self.post(request, action)

    def post(self, request: Request, action: str) -> Response:
        """
        Answer an action.

        Raises: ``UnknownAction``; whatever the action raises.
        """
        if "/" in action:
            raise Http404
        if action not in _ACTIONS:
            raise UnknownAction(action=action[:100])
        return _ACTIONS[action](request)

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override] # the stubs mix Django's request with REST framework's
        """Name the methods."""
        return Response(headers={"Allow": ", ".join(self.allowed_methods)})


def _empty(response: HttpResponseBase) -> None:
    """Keep the headers of an answer, its length among them, and drop its body."""
    if isinstance(response, HttpResponse):
        length = len(response.content)
        response.content = b""
        response["Content-Length"] = str(length)


def datastore_search(request: Request) -> Response:
    """
    Search the records of a resource.

    Source: CKAN ``datastore_search``.
    """
    asked = SearchRequest(read_parameters(request))

    def answer(resource: Resource) -> Response:
        check_may_read(request, resource)
        page = search(resource, asked.query)
        result = _result(request, resource, asked, page)
        response = Response(success(request, "datastore_search", result))
        patch_cache_control(
            response,
            max_age=0,
            must_revalidate=True,
            **{"private" if resource.private else "public": True},
        )
        patch_vary_headers(response, ["Authorization"])
        return response

    return answer_from(asked.resource_id, answer)


_ACTIONS: dict[str, Callable[[Request], Response]] = {"datastore_search": datastore_search}


def _result(
    request: Request, resource: Resource, asked: SearchRequest, page: Page
) -> dict[str, Any]:
    echoed = {
        name: asked.given[name] for name in ("offset", "q", "filters") if asked.given.get(name)
    }
    total = {} if page.total is None else {"total": page.total, "total_was_estimated": False}
    return {
        "resource_id": str(resource.pk),
        "fields": _fields(resource, page),
        "records_format": "objects",
        "limit": asked.query.limit,
        "include_total": asked.query.include_total,
        **echoed,
        **total,
        "_links": _links(request, resource, asked),
        "records": RawJson(page.records),
    }


def _fields(resource: Resource, page: Page) -> list[dict[str, Any]]:
    described = {field.name: _info(field) for field in resource.schema}
    return [
        {"id": name, "type": kind, **({"info": info} if (info := described.get(name)) else {})}
        for name, kind in page.fields
    ]


def _info(field: Field) -> dict[str, str]:
    return {name: text for name, text in (("label", field.label), ("notes", field.notes)) if text}


def _links(request: Request, resource: Resource, asked: SearchRequest) -> dict[str, str]:
    """
    Give the paths of the first, next and previous page, as GET requests under the path's locale.

    Source: CKAN 2.10 and 2.11; there is a next one even at the end, as there.
    """
    given: dict[str, Any] = {"resource_id": str(resource.pk)}
    for name in ("q", "filters", "limit", "include_total"):
        if name in asked.given:
            value = asked.given[name]
            given[name] = value if isinstance(value, str | int) else _as_text(value)
    limit, offset = asked.query.limit, asked.query.offset

    def link(start: int) -> str:
        query = {**given, **({"offset": start} if start else {})}
        return f"{request.path}?{urlencode(query)}"

    links = {"start": link(0), "next": link(offset + limit)}
    if offset > 0:
        links["prev"] = link(max(0, offset - limit))
    return links


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

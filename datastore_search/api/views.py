"""The actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import add_never_cache_headers
from django.utils.module_loading import import_string
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ..conf import conf
from ..exceptions import UnknownAction, WritingByGet
from ..middleware import find_path_language
from ..request_limits import measure_body
from ..spooling import Spool
from ..validators import Unchanged, keep
from .actions import VARY, Action, Answer, actions
from .body import read_parameters
from .envelope import build_success, exception_handler
from .permissions import check_may_send_records
from .renderers import EnvelopeRenderer, SpooledEnvelope


class IgnoreAccept(BaseContentNegotiation):
    """Answer in JSON whatever the client says it accepts, as CKAN does."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Take the only renderer."""
        (renderer,) = renderers
        return renderer, renderer.media_type


class EnvelopeView(APIView):
    """A view whose answers, and failures, are envelopes in the language of the path."""

    http_method_names: tuple[str, ...] = ("get", "post", "head", "options")
    # What a portal chooses for its own views in REST_FRAMEWORK does not hold for these: CKAN's
    # clients know one form of the addresses, of what is sent and of the answer.  Throttles do hold.
    versioning_class = None
    permission_classes = ()
    parser_classes = ()
    renderer_classes = (EnvelopeRenderer,)
    content_negotiation_class = IgnoreAccept

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never in that of ``Accept-Language``."""
        language = find_path_language(request.path_info) or settings.LANGUAGE_CODE
        with translation.override(language):
            response = super().dispatch(request, *args, **kwargs)
            if isinstance(response, Response):
                response = self._rendered(response)
        response["Content-Language"] = language
        return _emptied(response) if request.method == "HEAD" else response

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Read the setting at each request."""
        return [import_string(path)() for path in conf.AUTHENTICATION_CLASSES]

    def perform_authentication(self, request: Request) -> None:
        """Look at the token only when something depends on it: a public resource needs none."""

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        """Let every failure leave in the envelope."""
        return exception_handler

    def _rendered(self, response: Response) -> Response:
        """Write the answer; what repeats too deep a parameter cannot be written."""
        try:
            response.render()
        except RecursionError as error:
            response = self.handle_exception(error)
            self.finalize_response(self.request, response)
            response.render()
        return response

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override] # the stubs mix Django's request with REST framework's
        """Name the methods."""
        return Response(headers={"Allow": ", ".join(self.allowed_methods)})


class ActionView(EnvelopeView):
    """
    One address, all actions: ``api/action/<name>``.

    Reading actions answer GET and POST alike, writing ones POST alone.
    """

    def get(self, request: Request, action: str) -> HttpResponseBase:
        """Answer an action."""
        return self.post(request, action)

    def post(self, request: Request, action: str) -> HttpResponseBase:
        """
        Answer an action.

        Raises: ``UnknownAction``; whatever the action raises.
        """
        if "/" in action:
            raise Http404
        if action not in actions:
            raise UnknownAction(action=action[:100])
        found = actions[action]
        if found.is_writing and request.method != "POST":
            raise WritingByGet(action=action)
        try:
            answer = found.run(request, read_parameters(request, _max_body_bytes(request, found)))
        except Unchanged as unchanged:
            return unchanged.response
        response = self._response(build_success(request, action, answer.result))
        _say_how_long_to_keep(response, answer, request)
        return response

    def _response(self, envelope: dict[str, Any]) -> HttpResponseBase:
        """Answer at once, or block by block what is too large for memory."""
        result = envelope["result"]
        if isinstance(result, Mapping) and any(isinstance(each, Spool) for each in result.values()):
            return SpooledEnvelope(envelope).response(self.request)
        return Response(envelope)


class VersionView(EnvelopeView):
    """``api/3``: the version of the action API, the only one there is."""

    http_method_names: tuple[str, ...] = ("get", "head", "options")

    def get(self, request: Request) -> Response:
        """Say the version."""
        return Response({"version": 3})


def _max_body_bytes(request: Request, action: Action) -> int:
    """
    Say how large the body of an action may be; only that of a known user may hold many records.

    Raises: ``AccessDenied``.
    """
    sent = request._request  # noqa: SLF001 - Django's, behind REST framework's
    if action.is_writing and measure_body(sent) > conf.SEARCH_BODY_MAX_BYTES:
        check_may_send_records(request)
        return conf.WRITE_BODY_MAX_BYTES
    return conf.SEARCH_BODY_MAX_BYTES


def _emptied(response: HttpResponseBase) -> HttpResponseBase:
    """Keep the headers of an answer, its length among them, and drop its body."""
    if isinstance(response, HttpResponse):
        length = len(response.content)
        response.content = b""
        response["Content-Length"] = str(length)
        return response
    if "Content-Length" not in response:  # what streams without one has seen to itself
        return response
    response.close()
    return HttpResponse(status=response.status_code, headers=dict(response.items()))


def _say_how_long_to_keep(response: HttpResponseBase, answer: Answer, request: Request) -> None:
    if answer.validators:
        answer.validators.mark(response, request)
    elif answer.public is None:
        add_never_cache_headers(response)
    else:
        keep(response, private=not answer.public, vary=VARY)

"""
The views of the API: what they read of a request, and their answers as JSON.

Parameters come in a query string, a form, or a JSON body.

Source: CKAN's action API, section 1 of its semantics.  Beyond CKAN, JSON sent as form data, as
``curl -d`` does without a content type, may contain ``&`` and ``=``.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, nullcontext
from time import monotonic, sleep
from typing import Any, ClassVar, Final, NoReturn

from django.core.exceptions import TooManyFieldsSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.utils.module_loading import import_string
from rest_framework.authentication import BaseAuthentication
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from ..conf import conf
from ..field_types import convert_to_json
from ..guards import shares
from ..guards.rates import check_throttles
from ..guards.shares import Client
from ..messages.availability import WriteBlocked
from ..messages.requests import (
    FormByGet,
    TrailingSlash,
    UnknownAction,
    UnknownAddress,
    UnsupportedContentEncoding,
    UnsupportedContentType,
    WritingByGet,
)
from ..search import RawJson
from ..search.records import MAX_MEMORY_BYTES, Spool
from ..signals import CATALOGUE_KEY
from ..web.addresses import build_help_address, find_base_path
from ..web.caching import NotModified, has_body, set_cache_headers
from ..web.streams import stream_response
from ..web.views import MAX_PARAMETERS, Answering, Question, check_parameters
from .actions import actions
from .actions.action import Answer
from .authentication import VARY, check_sizes
from .envelope import exception_handler
from .parameters import parse_object
from .uploads import UPLOAD, ReceiveFile, build_file_error, get_upload, uploads

#: What REST framework finds in a body.
_NO_DATA: Final = QueryDict()

# What a request sends -----------------------------------------------------------------------------


class RefuseFiles(FileUploadHandler):
    """Refuse a form at its first file, before the file is read."""

    def new_file(self, field_name: str, *args: object, **kwargs: object) -> NoReturn:
        raise build_file_error(field_name)


def read_parameters(
    wrapped: Request, max_values: int, max_file_bytes: int = 0
) -> dict[str, object]:
    """
    Read the parameters of a request as they were sent, with JSON of at most ``max_values``.

    ``check_sizes`` has accepted its size.  A parameter that is repeated in a form or a query string
    becomes a list.  With ``max_file_bytes`` a form may have one file.

    Raises: ``BadRequest``; ``UnsupportedContentType``; ``ValidationError`` for other files;
    ``RequestTooLarge``; ``FileNotStored``.
    """
    request = wrapped._request  # noqa: SLF001 - Django's parser of forms, not REST framework's
    request.encoding = "utf-8"  # the charset of the content type is ignored
    kind = (request.content_type or "").lower()
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "")
    if encoding.lower() not in {"", "identity"} and has_body(request):
        raise UnsupportedContentEncoding(encoding=encoding[:100])
    if request.method == "POST" and kind == "application/x-www-form-urlencoded":
        return _read_form(request.body, max_values) or _flatten(request.GET)
    if request.method == "POST" and kind == "multipart/form-data":
        if not hasattr(request, "_files"):  # unless a middleware of the portal has read the form
            handler = ReceiveFile(request, max_file_bytes) if max_file_bytes else RefuseFiles()
            request.upload_handlers = [handler]
        try:
            parameters = _flatten(request.POST)
        except TooManyFieldsSent:
            check_parameters(MAX_PARAMETERS + 1)
            raise
        check_parameters(sum(len(values) for _name, values in request.POST.lists()))
        for name in request.FILES:
            if not max_file_bytes or name != UPLOAD:
                raise build_file_error(name)
        return {**parameters, **request.FILES.dict()} or _flatten(request.GET)
    if request.GET or not request.body:
        return _flatten(request.GET)
    if kind and kind != "application/json" and not kind.endswith("+json"):
        is_form = kind in {"application/x-www-form-urlencoded", "multipart/form-data"}
        raise FormByGet if is_form else UnsupportedContentType(kind=kind)
    return parse_object(request.body, max_values)


def _read_form(body: bytes, max_values: int) -> dict[str, object]:
    """Read a form, which is JSON if it begins so: no name of a parameter does."""
    if body.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"[")):
        return parse_object(body, max_values)
    check_parameters(body.count(b"&") + 1)
    parameters = _flatten(QueryDict(body, encoding="utf-8"))
    if list(parameters.values()) == [""]:
        name = next(iter(parameters)).encode(errors="replace")
        if name.lstrip().startswith((b"{", b"[")):  # JSON, percent-encoded like a form
            return parse_object(name, max_values)
    return parameters


def _flatten(values: QueryDict) -> dict[str, object]:
    return {name: sent[0] if len(sent) == 1 else list(sent) for name, sent in values.lists()}


# The envelope as JSON -----------------------------------------------------------------------------


class EnvelopeRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        result = (data or {}).get("result")
        if isinstance(result, Mapping) and RawJson in map(type, result.values()):
            return b"".join(_write_envelope(data))
        return b"" if data is None else _ENCODER.encode(data).encode()


def _write_envelope(data: Mapping[str, Any]) -> Generator[bytes]:
    """Write an envelope as JSON, the ``RawJson`` and spools of its result last and unparsed."""
    members: Mapping[str, Any] = data["result"]
    raw = {name: value for name, value in members.items() if isinstance(value, RawJson | Spool)}
    rest = {name: value for name, value in members.items() if name not in raw}
    before = _ENCODER.encode({**data, "result": rest})[:-2]  # without the braces at its end
    before += ", " if rest else ""
    for name, value in raw.items():
        # A spool is freed before the server does.
        with closing(value) if isinstance(value, Spool) else nullcontext():
            yield f"{before}{json.dumps(name)}: ".encode()
            yield from value
        before = ", "
    yield b"}}"


def _respond_with_spool(
    request: HttpRequest, data: Mapping[str, Any], name: str
) -> HttpResponseBase:
    """
    Build a response of an envelope whose ``result`` has a ``Spool`` of a name.

    It is empty for HEAD, whole if it needs little memory, else streamed.
    """
    spool: Spool = data["result"][name]
    kind = f"{EnvelopeRenderer.media_type}; charset={EnvelopeRenderer.charset}"
    around = _write_envelope({**data, "result": {**data["result"], name: RawJson()}})
    length = str(sum(map(len, around)) + spool.size_bytes)
    if request.method == "HEAD":
        spool.close()
        return HttpResponse(content_type=kind, headers={"Content-Length": length})
    blocks = _write_envelope(data)
    if spool.size_bytes <= MAX_MEMORY_BYTES:
        return HttpResponse(b"".join(blocks), content_type=kind)
    response = stream_response(request, blocks, kind)
    response["Content-Length"] = length
    return response


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=convert_to_json)


#: The time for which a request with a file waits for other changes, and that between two attempts.
_MAX_WAIT_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 0.1

# Views --------------------------------------------------------------------------------------------


class EnvelopeView(Answering, APIView):
    """A view whose answers and failures are envelopes in the language of the path."""

    http_method_names: tuple[str, ...] = ("get", "post", "head", "options")
    # The portal's REST_FRAMEWORK settings do not apply, except throttles: clients of CKAN know one
    # form of addresses, requests and answers.
    versioning_class = None
    permission_classes = ()
    parser_classes = ()
    renderer_classes = (EnvelopeRenderer,)

    #: The action that the ``help`` of a failure describes, where the address names none.
    help_action: ClassVar[str] = ""

    #: What reports of the request are made of: its name, its parameters, the number of records.
    report_name = ""
    sent: Mapping[str, object] = {}

    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer, and render the answer; a HEAD gets no body."""
        response = APIView.dispatch(self, request, *args, **kwargs)
        try:
            response = response.render() if isinstance(response, Response) else response
        except RecursionError as error:  # a parameter with too many levels is repeated
            response = self.handle_exception(error)
            self.finalize_response(self.request, response)
            response.render()
        if request.method == "HEAD" and isinstance(response, HttpResponse):  # a stream is empty
            response.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response

    def describe_question(self) -> Question:
        return Question(self.report_name, {}, ())

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Read the setting at each request, so that it can change."""
        return [import_string(path)() for path in conf.AUTHENTICATION_CLASSES]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """
        Answer in JSON and ignore ``Accept``, as CKAN does, and check the rates.

        The token is read when something depends on it, not for public reads.  The body, which
        ``read_parameters`` reads, is hidden from classes that look for a CSRF token in it.
        """
        vars(request).update(_data=_NO_DATA, _full_data=_NO_DATA)
        renderer = self.renderer_classes[0]()
        request.accepted_renderer, request.accepted_media_type = renderer, renderer.media_type
        # The setting is read at each request, so that it can change; a subclass may name others.
        is_own = self.throttle_classes is not APIView.throttle_classes
        chosen: Any = self.throttle_classes if is_own else api_settings.DEFAULT_THROTTLE_CLASSES
        if chosen:
            check_throttles([throttle() for throttle in chosen], request, self)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return exception_handler

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override] # the stubs mix Django's request with REST framework's
        return Response(headers={"Allow": ", ".join(self.allowed_methods)})


class ActionView(EnvelopeView):
    """All actions, ``api/action/<name>``; a writing action answers only POST."""

    def post(self, request: Request, action: str) -> HttpResponseBase:
        if action not in actions:
            if action.rstrip("/") in actions:
                raise TrailingSlash
            if "/" in action:
                raise UnknownAddress(path=f"{find_base_path(request)}api/3/action/")
            raise UnknownAction(action=action[:100], actions=", ".join(sorted(actions)))
        known = actions[action]
        if known.is_writing and request.method != "POST":
            raise WritingByGet(action=action)
        try:
            file_bytes = uploads.entry.get_max_bytes() if known.takes_file else 0
            max_values = check_sizes(request, file_bytes, is_writing=known.is_writing)
            self.sent = read_parameters(request, max_values, file_bytes)
            file = get_upload(self.sent) if known.takes_file else None
            client = Client.from_request(request) if known.is_writing and file is None else None
            with shares.process_shares.hold(client, conf.WRITE_TIMEOUT):
                run = known.run if file is None else self._run_in_turn
                answer = run(request, self.sent)
        except NotModified as not_modified:
            return not_modified.response
        self.record_count = answer.record_count
        result, address = answer.result, build_help_address(request, action)
        envelope = {"help": address, "success": True, "result": result}
        response: HttpResponseBase
        members = result.items() if isinstance(result, Mapping) else ()
        if spooled := [name for name, value in members if isinstance(value, Spool)]:
            response = _respond_with_spool(request, envelope, *spooled)
        else:
            response = Response(envelope)
        if answer.validators:
            answer.validators.set_headers(response, request)
        elif answer.public is None:
            add_never_cache_headers(response)
        else:
            set_cache_headers(
                request, response, private=not answer.public, vary=VARY, key=CATALOGUE_KEY
            )
        return response

    get = post

    def _run_in_turn(self, request: Request, sent: Mapping[str, object]) -> Answer:
        """Run an action that has received a whole file: it waits, and no client sends it again."""
        deadline = monotonic() + _MAX_WAIT_SECONDS
        while True:
            try:
                return actions[self.kwargs["action"]].run(request, sent)
            except WriteBlocked:
                if monotonic() > deadline:
                    raise
            sleep(_RETRY_SECONDS)

    def describe_question(self) -> Question:
        """Name the action and its parameters; an action that does not exist has no name."""
        action = actions.get(self.kwargs["action"])
        if action is None:
            return Question("unknown", {}, ())
        return Question(action.name, self.sent, [*action.parameters.get_declared()])


class VersionView(EnvelopeView):
    """``api/3``: the only version of the action API."""

    http_method_names: tuple[str, ...] = ("get", "head", "options")
    report_name = "version"

    def get(self, request: Request) -> Response:
        return Response({"version": 3})

"""
Read the parameters of a request from its query string, a form, or a JSON body.

Source: CKAN's action API, section 1 of its semantics.  Beyond CKAN, JSON sent as form data, as
``curl -d`` does without a content type, may contain ``&`` and ``=``.
"""

from __future__ import annotations

import codecs
import json
import re
from array import array
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from typing import Final, NoReturn

from django.core.exceptions import TooManyFieldsSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from ..field_types import refuse_constant
from ..messages.requests import (
    JsonTooDeep,
    MalformedJson,
    NotAnObject,
    TooManyValues,
    UnreadableText,
    UnsupportedContentEncoding,
    UnsupportedContentType,
)
from ..web.caching import has_body
from ..web.views import MAX_PARAMETERS, check_parameters

#: Of nested JSON.  Python's own limit is not much higher, and depends on its version.
MAX_JSON_DEPTH: Final = 300

#: Of JSON that is not written: all names and filters that a search may have, and room for the rest.
MAX_JSON_VALUES: Final = 25_000

#: Of one call that writes, and of its JSON.
MAX_WRITE_RECORDS: Final = 100_000
MAX_WRITTEN_VALUES: Final = 50 * MAX_WRITE_RECORDS

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class RefuseFiles(FileUploadHandler):
    """Refuse a form at its first file, before the file is read."""

    def new_file(self, field_name: str, *args: object, **kwargs: object) -> NoReturn:
        """Refuse the file."""
        raise _build_file_error(field_name)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Do nothing: every file is refused."""

    def file_complete(self, file_size: int) -> None:
        """Do nothing: every file is refused."""


def read_parameters(wrapped: Request, max_values: int) -> dict[str, object]:
    """
    Read the parameters of a request as they were sent, with JSON of at most ``max_values``.

    ``permissions.check_sizes`` has accepted its size.

    Numbers with a fraction become ``Decimal``; a parameter that is repeated in a form or a query
    string becomes a list.

    Raises: ``BadRequest``; ``UnsupportedContentType``; ``ValidationError`` for
    files.
    """
    request = wrapped._request  # noqa: SLF001 - Django's parser of forms, not REST framework's
    request.encoding = "utf-8"  # the charset of the content type is ignored
    kind = (request.content_type or "").lower()
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "")
    if encoding.lower() not in {"", "identity"} and has_body(request):
        raise UnsupportedContentEncoding(encoding=encoding[:100])
    if request.method == "POST" and kind in _FORMS:
        return _read_form(request, kind, max_values) or _flatten(request.GET)
    if request.GET or not request.body:
        return _flatten(request.GET)
    if kind and kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedContentType(kind=kind)
    return parse_object(request.body, max_values)


def _read_form(request: HttpRequest, kind: str, max_values: int) -> dict[str, object]:
    if kind == "multipart/form-data":
        return _read_multipart(request)
    if _is_json(request.body.removeprefix(codecs.BOM_UTF8)):
        return parse_object(request.body, max_values)
    check_parameters(request.body.count(b"&") + 1)
    parameters = _flatten(QueryDict(request.body, encoding="utf-8"))
    if len(parameters) == 1:
        ((name, value),) = parameters.items()
        if value == "" and _is_json(
            name.encode(errors="replace")
        ):  # JSON, percent-encoded like a form
            return parse_object(name.encode(errors="replace"), max_values)
    return parameters


def _read_multipart(request: HttpRequest) -> dict[str, object]:
    if not hasattr(request, "_files"):  # unless a middleware of the portal has read the form
        request.upload_handlers = [RefuseFiles(request)]
    try:
        parameters = _flatten(request.POST)
    except TooManyFieldsSent:
        check_parameters(MAX_PARAMETERS + 1)
        raise
    check_parameters(sum(len(values) for _name, values in request.POST.lists()))
    for name in request.FILES:
        raise _build_file_error(name)
    return parameters


def _build_file_error(name: str) -> ValidationError:
    return ValidationError({name: [str(_("Files cannot be sent."))]})


def _is_json(body: bytes) -> bool:
    """Return whether a form is JSON: no name of a parameter begins like this."""
    return body.lstrip()[:1] in {b"{", b"["}


def _flatten(values: QueryDict) -> dict[str, object]:
    return {name: sent[0] if len(sent) == 1 else list(sent) for name, sent in values.lists()}


def parse_object(body: bytes, max_values: int = MAX_JSON_VALUES) -> dict[str, object]:
    """
    Parse the text of a JSON object, in any Unicode encoding.

    Raises: ``UnreadableText``, ``MalformedJson``, ``TooManyValues``, ``NotAnObject``.
    """
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        raise UnreadableText from None
    value = parse_json(text, max_values)
    if not isinstance(value, Mapping):
        raise NotAnObject
    return dict(value)


def parse_json(text: str, max_values: int = MAX_JSON_VALUES) -> object:
    """
    Parse a JSON text of at most ``max_values``; numbers with a fraction become ``Decimal``.

    Raises: ``MalformedJson``, also for NaN and infinities, which are not JSON; ``JsonTooDeep``;
    ``TooManyValues``.
    """
    opened = text.count("[") + text.count("{")
    if opened + text.count(",") > max_values:
        values = _keep_outside_texts(text, b",[{").replace(b'"', b"")
        if len(values) > max_values:
            raise TooManyValues(most=max_values)
    if opened > MAX_JSON_DEPTH:
        steps = array("b", _keep_outside_texts(text, b"[]{}").translate(_STEPS))
        if max(accumulate(steps), default=0) > MAX_JSON_DEPTH:
            raise JsonTooDeep(most=MAX_JSON_DEPTH)
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError) as error:
        raise MalformedJson(reason=str(error)[:200]) from None
    except RecursionError:
        raise JsonTooDeep(most=MAX_JSON_DEPTH) from None


def _keep_outside_texts(text: str, kept: bytes) -> bytes:
    """Keep some characters of a JSON text outside of quotes, and unpaired quotes; do not parse."""
    others = bytes(set(range(256)) - set(kept) - {ord('"')})
    body = text.encode(errors="replace").replace(rb"\\", b"").replace(rb"\"", b"")
    return _STRING.sub(b"", body.translate(None, others).replace(b'""', b""))


#: A bracket as a signed byte: +1 or -1; an unpaired quote is 0.
_STEPS = bytes.maketrans(b'[{]}"', b"\x01\x01\xff\xff\x00")
_STRING = re.compile(rb'"[^"]*"')


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=refuse_constant)

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

from ..exceptions.requests import (
    JsonTooDeep,
    MalformedJson,
    NotAnObject,
    UnreadableText,
    UnsupportedContentType,
)
from ..guards.sizes import MAX_PARAMETERS, check_body, check_parameters, check_query_string

#: Of nested JSON.  Python's own limit is not much higher, and depends on its version.
MAX_JSON_DEPTH: Final = 300

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class RefuseFiles(FileUploadHandler):
    """Refuse a form at its first file, before the file is read."""

    def new_file(self, field_name: str, *args: object, **kwargs: object) -> NoReturn:
        """
        Refuse the file.

        Raises: ``ValidationError``.
        """
        raise _build_file_error(field_name)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Do nothing: every file is refused."""

    def file_complete(self, file_size: int) -> None:
        """Do nothing: every file is refused."""


def read_parameters(wrapped: Request, max_bytes: int) -> dict[str, object]:
    """
    Read the parameters of a request as they were sent, from a body of at most ``max_bytes``.

    Numbers with a fraction become ``Decimal``; a parameter that is repeated in a form or a query
    string becomes a list.

    Raises: ``RequestTooLarge``; ``BadRequest``; ``UnsupportedContentType``; ``ValidationError`` for
    files.
    """
    request = wrapped._request  # noqa: SLF001 - Django's parser of forms, not REST framework's
    check_query_string(request)
    check_body(request, max_bytes)
    request.encoding = "utf-8"  # the charset of the content type is ignored
    kind = (request.content_type or "").lower()
    if request.method == "POST" and kind in _FORMS:
        return _read_form(request, kind) or _flatten(request.GET)
    if request.GET or not request.body:
        return _flatten(request.GET)
    if kind and kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedContentType(kind=kind)
    return parse_object(request.body)


def _read_form(request: HttpRequest, kind: str) -> dict[str, object]:
    if kind == "multipart/form-data":
        return _read_multipart(request)
    if _is_json(request.body.removeprefix(codecs.BOM_UTF8)):
        return parse_object(request.body)
    check_parameters(request.body.count(b"&") + 1)
    parameters = _flatten(QueryDict(request.body, encoding="utf-8"))
    if len(parameters) == 1:
        ((name, value),) = parameters.items()
        if value == "" and _is_json(
            name.encode(errors="replace")
        ):  # JSON, percent-encoded like a form
            return parse_object(name.encode(errors="replace"))
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
    return ValidationError({name: [str(_("No file can be sent."))]})


def _is_json(body: bytes) -> bool:
    """Return whether a form is JSON: no name of a parameter begins like this."""
    return body.lstrip()[:1] in {b"{", b"["}


def _flatten(values: QueryDict) -> dict[str, object]:
    return {name: sent[0] if len(sent) == 1 else list(sent) for name, sent in values.lists()}


def parse_object(body: bytes) -> dict[str, object]:
    """
    Parse the text of a JSON object, in any Unicode encoding.

    Raises: ``UnreadableText``, ``MalformedJson``, ``NotAnObject``.
    """
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        raise UnreadableText from None
    value = parse_json(text)
    if not isinstance(value, Mapping):
        raise NotAnObject
    return dict(value)


def parse_json(text: str) -> object:
    """
    Parse a JSON text; numbers with a fraction become ``Decimal``.

    Raises: ``MalformedJson``, also for NaN and infinities, which are not JSON; ``JsonTooDeep``.
    """
    if _is_too_deep(text):
        raise JsonTooDeep(most=MAX_JSON_DEPTH)
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError) as error:
        raise MalformedJson(reason=str(error)[:200]) from None
    except RecursionError:
        raise JsonTooDeep(most=MAX_JSON_DEPTH) from None


def _is_too_deep(text: str) -> bool:
    """
    Return whether a JSON text has more than ``MAX_JSON_DEPTH`` levels, without parsing it.

    Brackets within quotes are removed; of the others, an opening one adds a level and a closing one
    ends it.
    """
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return False
    body = text.encode(errors="replace").replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = _STRING.sub(b"", body.translate(None, _OTHERS).replace(b'""', b""))
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > MAX_JSON_DEPTH


#: All bytes except quotes and brackets.
_OTHERS = bytes(set(range(256)) - set(b'"[]{}'))
#: A bracket as a signed byte: +1 or -1; an unpaired quote is 0.
_STEPS = bytes.maketrans(b'[{]}"', b"\x01\x01\xff\xff\x00")
_STRING = re.compile(rb'"[^"]*"')


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)

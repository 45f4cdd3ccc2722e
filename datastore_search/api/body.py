"""
Where parameters are read from: the query string, a form, or a JSON body.

Source: CKAN's action API, section 1 of its semantics.  Kinder in one point: JSON sent as form data,
which is what ``curl -d`` does without a content type, may hold ``&`` and ``=``.
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
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.request import Request

from ..exceptions import JsonTooDeep, MalformedJson, NotAnObject, UnreadableText
from ..request_limits import MAX_PARAMETERS, check_body, check_parameters, check_query_string

#: Levels of JSON within each other that are read: Python's own limit lies not far above, and
#: depends on its version.
MAX_JSON_DEPTH: Final = 300

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class RefuseFiles(FileUploadHandler):
    """Refuse a form at its first file, before anything of that is read."""

    def new_file(self, field_name: str, *args: object, **kwargs: object) -> NoReturn:
        """
        Refuse the file.

        Raises: ``ValidationError``.
        """
        raise _file_refused(field_name)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Receive nothing: no file has begun."""

    def file_complete(self, file_size: int) -> None:
        """Make no file."""


def read_parameters(wrapped: Request, max_bytes: int) -> dict[str, object]:
    """
    Read the parameters of a request, as they were sent; its body has at most ``max_bytes``.

    Numbers with a fraction come as ``Decimal``; a parameter sent twice in a form or a query string
    becomes a list.

    Raises: ``RequestTooLarge``; ``BadRequest``; ``UnsupportedMediaType``; ``ValidationError`` for
    files.
    """
    request = wrapped._request  # noqa: SLF001 - Django's parser of forms, not REST framework's
    check_query_string(request)
    check_body(request, max_bytes)
    request.encoding = "utf-8"  # whatever charset the content type names
    kind = (request.content_type or "").lower()
    if request.method == "POST" and kind in _FORMS:
        return _form(request, kind) or _flat(request.GET)
    if request.GET or not request.body:
        return _flat(request.GET)
    if kind and kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedMediaType(kind)
    return parse_object(request.body)


def _form(request: HttpRequest, kind: str) -> dict[str, object]:
    if kind == "multipart/form-data":
        return _multipart(request)
    if _is_json(request.body.removeprefix(codecs.BOM_UTF8)):
        return parse_object(request.body)
    check_parameters(request.body.count(b"&") + 1)
    found = _flat(QueryDict(request.body, encoding="utf-8"))
    if len(found) == 1:
        ((name, value),) = found.items()
        if value == "" and _is_json(name.encode(errors="replace")):  # JSON, quoted as a form is
            return parse_object(name.encode(errors="replace"))
    return found


def _multipart(request: HttpRequest) -> dict[str, object]:
    if not hasattr(request, "_files"):  # a middleware of the portal may have read the form
        request.upload_handlers = [RefuseFiles(request)]
    try:
        found = _flat(request.POST)
    except TooManyFieldsSent:
        check_parameters(MAX_PARAMETERS + 1)
        raise
    check_parameters(sum(len(values) for _name, values in request.POST.lists()))
    for name in request.FILES:
        raise _file_refused(name)
    return found


def _file_refused(name: str) -> ValidationError:
    return ValidationError({name: [str(_("No file can be sent."))]})


def _is_json(body: bytes) -> bool:
    """Tell whether a form is meant as JSON: no name of a parameter begins so."""
    return body.lstrip()[:1] in {b"{", b"["}


def _flat(values: QueryDict) -> dict[str, object]:
    return {name: found[0] if len(found) == 1 else list(found) for name, found in values.lists()}


def parse_object(body: bytes) -> dict[str, object]:
    """
    Parse the text of a JSON object, in any Unicode encoding.

    Raises: ``UnreadableText``, ``MalformedJson``, ``NotAnObject``.
    """
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        raise UnreadableText from None
    found = parse_json(text)
    if not isinstance(found, Mapping):
        raise NotAnObject
    return dict(found)


def parse_json(text: str) -> object:
    """
    Parse a JSON text, fractions exactly.

    Raises: ``MalformedJson``, for NaN and infinities too, which JSON does not have;
    ``JsonTooDeep``.
    """
    if _is_deep(text):
        raise JsonTooDeep(most=MAX_JSON_DEPTH)
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError) as error:
        raise MalformedJson(reason=str(error)[:200]) from None
    except RecursionError:
        raise JsonTooDeep(most=MAX_JSON_DEPTH) from None


def _is_deep(text: str) -> bool:
    """
    Tell whether a JSON text is nested too deeply, without parsing it.

    Only brackets and quotes are kept, then what stands within quotes goes, then the brackets are
    counted: one level more for each that opens, one less for each that closes.
    """
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return False
    kept = text.encode(errors="replace").replace(rb"\\", b"").replace(rb"\"", b"")
    kept = _STRING.sub(b"", kept.translate(None, _OUTSIDE).replace(b'""', b""))
    return max(accumulate(array("b", kept.translate(_STEPS))), default=0) > MAX_JSON_DEPTH


#: All bytes but quotes and brackets.
_OUTSIDE = bytes(set(range(256)) - set(b'"[]{}'))
#: A step up, or a step down, as signed bytes; a quote that is left over is none.
_STEPS = bytes.maketrans(b'[{]}"', b"\x01\x01\xff\xff\x00")
_STRING = re.compile(rb'"[^"]*"')


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)

"""
Where parameters are read from: the query string, a form, or a JSON body.

Source: CKAN's action API, section 1 of its semantics.  Kinder in one point: JSON sent as form data,
which is what ``curl -d`` does without a content type, may hold ``&`` and ``=``.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.request import Request

from ..exceptions import MalformedJson, NotAnObject, UnreadableText

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def read_parameters(wrapped: Request) -> dict[str, object]:
    """
    Read the parameters of a request, as they were sent.

    Numbers with a fraction come as ``Decimal``; a parameter sent twice in a form or a query string
    becomes a list.

    Raises: ``BadRequest``; ``UnsupportedMediaType``; ``ValidationError`` for files.
    """
    request = wrapped._request  # noqa: SLF001 - Django's parser of forms, not REST framework's
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
        if request.FILES:
            raise ValidationError(
                {name: [str(_("No file can be sent."))] for name in request.FILES}
            )
        return _flat(request.POST)
    if _is_json(request.body.removeprefix(codecs.BOM_UTF8)):
        return parse_object(request.body)
    found = _flat(QueryDict(request.body, encoding="utf-8"))
    if len(found) == 1:
        ((name, value),) = found.items()
        if value == "" and _is_json(name.encode(errors="replace")):  # JSON, quoted as a form is
            return parse_object(name.encode(errors="replace"))
    return found


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

    Raises: ``MalformedJson``, for NaN and infinities too, which JSON does not have.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError) as error:
        raise MalformedJson(reason=str(error)[:200]) from None
    except RecursionError:
        raise MalformedJson(reason="nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)

"""
Where parameters are read from: the query string, a form, or a JSON body.

Source: CKAN's action API, section 1 of its semantics.  Kinder in one point: JSON sent as form data,
which is what ``curl -d`` does without a content type, may hold ``&`` and ``=``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn

from django.http import HttpRequest, QueryDict
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from ..exceptions import MalformedJson, NotAnObject, UnreadableText

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def read_parameters(wrapped: Request) -> dict[str, object]:
    """
    Read the parameters of a request, as they were sent.

    Numbers with a fraction come as ``Decimal``; a parameter sent twice in a form or a query string
    becomes a list.

    Raises: ``BadRequest``; ``UnsupportedMediaType``.
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
        files = dict.fromkeys(request.FILES, "")  # no action takes one: refused by its name
        return {**files, **_flat(request.POST)}
    if request.body.lstrip()[:1] in (b"{", b"["):
        return parse_object(request.body)
    return _flat(QueryDict(request.body, encoding="utf-8"))


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
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, ArithmeticError) as error:
        raise MalformedJson(reason=str(error)[:200]) from None
    except RecursionError:
        raise MalformedJson(reason="nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

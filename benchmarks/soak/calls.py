"""Calls of the portal's actions, without Django, for clients in any process."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, Final

from ..calls import Caller, build_action_call

TIMEOUT_SECONDS: Final = 100


class UnavailableError(Exception):
    """The portal has answered 503, as it should while something is away."""


class WrongError(Exception):
    """An answer is not as it must be."""


def expect(is_right: bool, found: object) -> None:
    """
    Raise an error that shows what was found, unless it is right.

    Raises: ``WrongError``.
    """
    if not is_right:
        raise WrongError(found)


def judge(request: Callable[[], str]) -> tuple[str, str]:
    """Make a request, and return its outcome, with the error where that is ``wrong``."""
    try:
        return request(), ""
    except (OSError, http.client.HTTPException):
        return "cut off", ""
    except UnavailableError:
        return "503", ""
    except Exception as error:  # noqa: BLE001 - an answer may be wrong in any way; the report lists it
        return "wrong", repr(error)


def call(address: str, action: str, parameters: Mapping[str, Any], token: str = "") -> Any:
    """
    Call an action, and return its result.

    Raises: ``UnavailableError`` for a 503 as it should be, ``WrongError`` for other failures.
    """
    with closing(Caller(address, timeout=TIMEOUT_SECONDS)) as caller:
        response = caller.open(build_action_call(address, action, parameters, token))
        body = response.read()
    answer = json.loads(body)
    if response.status == http.HTTPStatus.SERVICE_UNAVAILABLE:
        expect(answer["error"]["__type"] == "Service Unavailable", answer)
        expect("Retry-After" in response.headers, answer)
        raise UnavailableError
    expect(response.status == http.HTTPStatus.OK, answer)
    return answer["result"]

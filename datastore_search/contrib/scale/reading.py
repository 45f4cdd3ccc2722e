"""Answer read requests from a replica, and again from another database where it has failed."""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from copy import copy
from http import HTTPStatus
from time import monotonic
from typing import Any, Final
from zlib import crc32

from django.conf import settings
from django.db import connections
from django.http.response import HttpResponseBase

from ...api.actions import actions
from ...guards.shares import find_address
from .conf import conf
from .routers import UNREACHED, choose_replica, chosen_alias, find_primary, get_state, states
from .writes import find_positions, find_written, list_keys, remember_seen, remember_write

#: A replica may answer so only because it lags: then the primary is asked, but a few times each
#: second, so that requests with unknown keys do not burden it.
_DOUBTFUL: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
_checked_at: Final = deque([0.0] * 5, maxlen=5)


def route_request(view: Any, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """Answer a request: a write from the primary, a read from the database that suits it."""
    action, keys = actions.get(kwargs.get("action", "")), list_keys(request)
    if action and action.is_writing:
        response: HttpResponseBase = view.answer_request(request, *args, **kwargs)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            remember_write(keys)
        return response
    primary, failed = find_primary(), set[str]()
    client = crc32("".join([find_address(request.META), *keys]).encode())
    ranked = sorted(conf.REPLICAS, key=lambda alias: crc32(f"{alias} {client}".encode()))
    seen, loaded = f"seen.{client}", f"load.{kwargs.get('resource_id') or kwargs.get('name')}"
    positions = find_positions(*keys, seen, loaded)
    written, is_away = max(positions.values(), default=0), seen in positions
    is_noted = written < UNREACHED
    user = copy(getattr(request, "user", None))  # which is lazy, and stays so
    while True:
        alias = choose_replica(ranked, written, failed, is_away=is_away) or primary
        if alias in failed:
            break
        state, context = get_state(alias), copy_context()
        context.run(chosen_alias.set, alias)
        response, view.database = context.run(view.answer_request, request, *args, **kwargs), alias
        is_doubtful = alias != primary and _is_doubtful(request, response)
        if _has_failed(alias, response):
            failed.add(alias)
        elif is_doubtful and get_state(primary) and monotonic() - _checked_at[0] > 1:
            _checked_at.append(monotonic())
            written = UNREACHED  # as if the client had written it just now
        else:
            break
        view.is_counted = True
        request.user = copy(user)
        vars(request).pop("_cached_user", None)
    is_noted = is_noted and response.status_code < HTTPStatus.BAD_REQUEST
    if is_noted and (alias != ranked[0] or is_away):
        remember_seen(seen, "" if alias == ranked[0] else alias)
    key = alias != primary and response.get("Surrogate-Key")
    if key and not (state and state.position >= find_written(key)):
        del response["Surrogate-Control"]  # a cache in front was purged of a later answer
    return response


def _has_failed(alias: str, response: HttpResponseBase) -> bool:
    """Return whether an answer has failed with its database; a dump has its own connection."""
    is_failure = response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    has_errors = connections[alias].errors_occurred
    if not (is_failure or has_errors):
        return False
    states[alias].clear()  # it is asked again
    return (is_failure and has_errors) or not get_state(alias)


def _is_doubtful(request: Any, response: HttpResponseBase) -> bool:
    """Return whether the primary may answer otherwise; no cookie of a session is deleted."""
    cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    session: Any = getattr(request, "session", None)
    is_lost = bool(cookie and session is not None and session.accessed and session.is_empty())
    if is_lost:
        request.session = type(session)(cookie)
    return is_lost or response.status_code in _DOUBTFUL

"""Where the time of a request goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

from example_project.wsgi import application

from .access import visible
from .addresses import Portal
from .calls import Call
from .requests import ONE_VALUE, RARE_WORD, Request
from .resources import Loaded
from .statements import timing_statements
from .subject import Pace, Subject
from .timing import LEAST

#: The API's version, which asks no database.
_FRAMEWORK_PATH = "/en/api/3"
#: So many answers are enough.
_MOST = 2_000

REQUESTS = (
    Request("limit 5", {"limit": 5}),
    Request("limit 100", {"limit": 100}),
    Request("one filter", ONE_VALUE),
    Request("rare q", RARE_WORD),
)


@dataclass(frozen=True, slots=True)
class Shares:
    """
    The milliseconds of an answer, and where they go.

    ``total_ms`` is what a client waits.  The others sum up to it: the HTTP server and its socket;
    Django, its middleware and the REST framework; psycopg and PostgreSQL; our own code.
    """

    total_ms: float
    server_ms: float
    framework_ms: float
    database_ms: float
    own_ms: float
    statements: int


def break_down(
    pace: Pace, request: Request, target: Loaded, portal: Portal, *, private: bool
) -> Shares:
    """
    Time a request through the server, the same within this process, and its parts there.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    with visible(target.resource, private=private):
        call = portal.call(request, target.id)
        subject = Subject([call])
        framework = Call(portal.server, "GET", _FRAMEWORK_PATH, call.headers)
        rounds = [_round(subject, framework, pace.seconds) for _ in range(pace.rounds)]
    total, within, database, empty = (
        statistics.median(figures) for figures in zip(*rounds, strict=True)
    )
    return Shares(
        total_ms=total,
        server_ms=total - within,
        framework_ms=empty,
        database_ms=database,
        own_ms=within - database - empty,
        statements=_here(call).statements,
    )


def _round(subject: Subject, framework: Call, seconds: float) -> tuple[float, float, float, float]:
    total = subject.time(1, seconds).median_ms
    within, database = _repeated(subject.calls[0], seconds)
    empty, _ = _repeated(framework, seconds)
    return total, within, database, empty


@dataclass(frozen=True, slots=True)
class _Here:
    """One answer within this process."""

    seconds: float
    database_seconds: float
    statements: int


def _repeated(call: Call, seconds: float) -> tuple[float, float]:
    """Give the medians of an answer and of its database's part, in milliseconds."""
    taken: list[_Here] = []
    end = time.perf_counter() + seconds
    while len(taken) < LEAST or (time.perf_counter() < end and len(taken) < _MOST):
        taken.append(_here(call))
    return (
        statistics.median(one.seconds for one in taken) * 1000,
        statistics.median(one.database_seconds for one in taken) * 1000,
    )


def _here(call: Call) -> _Here:
    """Call the WSGI application as a server does, to the last block of the answer."""
    environ = _environ(call)
    with timing_statements() as watch:
        begin = time.perf_counter()
        answer = application(environ, _start_response)
        for _block in answer:
            pass
        answer.close()
        seconds = time.perf_counter() - begin
    return _Here(seconds, watch.seconds, watch.statements)


def _environ(call: Call) -> dict[str, Any]:
    path, _, query = call.path.partition("?")
    host, _, port = call.server.partition(":")
    headers = {
        f"HTTP_{name.upper().replace('-', '_')}": value for name, value in call.headers.items()
    }
    return {
        "REQUEST_METHOD": call.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": host,
        "CONTENT_TYPE": headers.pop("HTTP_CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(call.body)),
        "HTTP_HOST": call.server,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(call.body),
        "wsgi.errors": StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **headers,
    }


def _start_response(*_given: object) -> Callable[[bytes], object]:
    return BytesIO().write

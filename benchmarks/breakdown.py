"""Where the time of a request goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

from datastore_search.api.authentication import BareTokenAuthentication
from datastore_search.models import Resource
from example_project.wsgi import application

from .addresses import Portal
from .calls import Call
from .credentials import set_visibility
from .requests import ONE_VALUE, RARE_WORD, Request
from .resources import LoadedResource
from .statements import Stopwatch, time_calls, time_statements
from .timed_calls import Pace, TimedCalls
from .timing import MIN_ANSWERS

#: The version of the API: an answer without a database query.
_FRAMEWORK_PATH = "/en/api/3"
#: Maximum answers of one measurement.
_MAX_ANSWERS = 2_000

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

    ``total_ms`` is the waiting time of a client.  The others sum up to it: the HTTP server and its
    socket; Django, its middleware and the REST framework; the user and the permissions (knox and
    Django); psycopg and PostgreSQL; the app's own code.
    """

    total_ms: float
    server_ms: float
    framework_ms: float
    access_ms: float
    database_ms: float
    own_ms: float
    statements: int


def break_down(
    pace: Pace, request: Request, target: LoadedResource, portal: Portal, *, private: bool
) -> Shares:
    """
    Time a request through the server, the same within this process, and its parts there.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    with set_visibility(target.resource, private=private):
        call = portal.build_call(request, target.id)
        subject = TimedCalls([call])
        framework = Call(portal.server, "GET", _FRAMEWORK_PATH, call.headers)
        rounds = [_time_round(subject, framework, pace.seconds) for _ in range(pace.rounds)]
    total, within, access, database, empty = (
        statistics.median(figures) for figures in zip(*rounds, strict=True)
    )
    return Shares(
        total_ms=total,
        server_ms=total - within,
        framework_ms=empty,
        access_ms=access,
        database_ms=database,
        own_ms=within - access - database - empty,
        statements=_time_local_answer(call).statements,
    )


def _time_round(subject: TimedCalls, framework: Call, seconds: float) -> tuple[float, ...]:
    total = subject.time(1, seconds).median_ms
    empty, _access, _database = _time_repeated(framework, seconds)
    return (total, *_time_repeated(subject.calls[0], seconds), empty)


@dataclass(frozen=True, slots=True)
class _LocalAnswer:
    """One answer within this process; ``access_seconds`` are without those of the database."""

    seconds: float
    access_seconds: float
    database_seconds: float
    statements: int


def _time_repeated(call: Call, seconds: float) -> tuple[float, float, float]:
    """Return the medians of an answer, of its user and permissions, and of the database, in ms."""
    answers: list[_LocalAnswer] = []
    end = time.perf_counter() + seconds
    while len(answers) < MIN_ANSWERS or (time.perf_counter() < end and len(answers) < _MAX_ANSWERS):
        answers.append(_time_local_answer(call))
    return (
        statistics.median(answer.seconds for answer in answers) * 1000,
        statistics.median(answer.access_seconds for answer in answers) * 1000,
        statistics.median(answer.database_seconds for answer in answers) * 1000,
    )


def _time_local_answer(call: Call) -> _LocalAnswer:
    """Call the WSGI application like a server, up to the last block of the answer."""
    environ = _build_environ(call)
    with time_statements() as watch, _time_permissions(watch) as access:
        started_at = time.perf_counter()
        answer = application(environ, _start_response)
        for _block in answer:
            pass
        answer.close()
        seconds = time.perf_counter() - started_at
    return _LocalAnswer(seconds, access.seconds, watch.seconds, watch.statements)


@contextmanager
def _time_permissions(database: Stopwatch) -> Iterator[Stopwatch]:
    """Time the check of user and permissions in this process, without its statements."""
    access = Stopwatch()
    with ExitStack() as stack:
        for owner, name in ((BareTokenAuthentication, "authenticate"), (Resource, "permits")):
            stack.enter_context(time_calls(owner, name, access, but=database))
        yield access


def _build_environ(call: Call) -> dict[str, Any]:
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

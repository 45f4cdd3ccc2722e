"""A run: serve the portal, send hostile requests over several connections, check each answer."""

from __future__ import annotations

import http.client
import re
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final

from django.contrib.auth import get_user_model

from datastore_search.conf import conf
from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..calls import Call, Caller
from ..resources import prepare_resource
from ..server import serve_portal
from .generator import HostileRequest, Targets, generate_requests

_ROOT: Final = str(Path(__file__).resolve().parents[2])

#: In the private table alone; no answer to a stranger may have it.
_PRIVATE_WORD: Final = "zqprivatezq"

#: What no answer may have, unless the request had it.
_LEAKS: Final = re.compile(
    rb"psycopg|Traceback \(most|LINE \d+:|datastore_search_record_\d"
    # PostgreSQL's quotation marks are straight, those of our own message are not.
    rb"|syntax error at or near(?! (\xe2\x80\x9c|\\u201c))"
    rb"|django\.db|site-packages|pg_catalog|SQLSTATE|" + _ROOT.encode()
)

#: Beside the time limit of statements: waiting for a slot, and writing the answer.
_MARGIN_SECONDS: Final = 20
_TIMEOUT_SECONDS: Final = 300
_MAX_SHOWN: Final = 20
_USER: Final = "hostile"


@dataclass(slots=True)
class Findings:
    """Requests by status, the slowest without and with a token, and what was wrong."""

    statuses: Counter[str] = field(default_factory=Counter)
    slowest: dict[bool, tuple[float, str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, request: HostileRequest, status: str, seconds: float, fault: str) -> None:
        """Count an answer."""
        with self.lock:
            self.statuses[status] += 1
            if seconds > self.slowest.get(request.is_trusted, (0.0, ""))[0]:
                self.slowest[request.is_trusted] = (seconds, f"{status} {_show(request)}")
            if fault:
                self.faults.append(f"{fault}: {_show(request)}")


def run(requests: int, clients: int, rows: int, seed: int) -> bool:
    """Send the requests, print what was found, and return whether every answer was right."""
    targets = _prepare(rows)
    known = set(Resource.objects.values_list("pk", flat=True))
    findings = Findings()
    try:
        with serve_portal(2, 4) as address, ThreadPoolExecutor(clients) as pool:
            share = requests // clients
            jobs = [
                pool.submit(_send_all, address, targets, seed + number, share, findings)
                for number in range(clients)
            ]
            for job in jobs:
                job.result()
    finally:
        get_user_model().objects.filter(username=_USER).delete()
        Resource.objects.exclude(pk__in=known).delete()  # those that the requests have made
    _print(findings)
    return not findings.faults


def _prepare(rows: int) -> Targets:
    public = prepare_resource(rows).id
    users = get_user_model().objects
    users.filter(username=_USER).delete()  # the user of an interrupted run
    user = users.create(username=_USER, is_superuser=True)
    changed = _load_text("hostile-changed", "a\n1\n", private=False)
    private = _load_text("hostile-private", f"{_PRIVATE_WORD}\n{_PRIVATE_WORD}\n", private=True)
    return Targets(public, changed, private, issue_token(user))


def _load_text(name: str, text: str, *, private: bool) -> str:
    """Load a table instead of the last run's, and return its id."""
    Resource.objects.filter(name=name).delete()
    resource = Resource.objects.create(name=name, private=private)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(text)
        load_file(resource, path, options=LoadOptions(force=True))
    return str(resource.pk)


def _send_all(address: str, targets: Targets, seed: int, count: int, findings: Findings) -> None:
    with closing(Caller(address, timeout=_TIMEOUT_SECONDS)) as caller:
        for request in islice(generate_requests(targets, seed), count):
            began = time.monotonic()
            try:
                response, body = _send(caller, request)
            except (OSError, http.client.HTTPException) as error:
                caller.close()
                findings.add(request, "none", time.monotonic() - began, repr(error))
                continue
            seconds = time.monotonic() - began
            fault = _find_fault(request, response, body, seconds)
            findings.add(request, str(response.status), seconds, fault)


def _send(caller: Caller, request: HostileRequest) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request; again if the server has closed the connection before the end of a body."""
    call = Call("", request.method, request.path, request.headers, request.body)
    try:
        response = caller.open(call)
        return response, response.read()
    except (OSError, http.client.HTTPException):
        caller.close()
        response = caller.open(call)
        return response, response.read()


def _find_fault(
    request: HostileRequest, response: http.client.HTTPResponse, body: bytes, seconds: float
) -> str:
    """Find what is wrong with an answer; empty if nothing is."""
    is_busy = response.status == HTTPStatus.SERVICE_UNAVAILABLE and response.getheader(
        "Retry-After"
    )
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not is_busy:
        return f"{response.status} {body[:300]!r}"
    limit = conf.STATEMENT_TIMEOUT if request.is_trusted else conf.ANONYMOUS_STATEMENT_TIMEOUT
    if seconds > limit.total_seconds() + _MARGIN_SECONDS:
        return f"{seconds:.0f} seconds"
    if not request.is_trusted and _PRIVATE_WORD.encode() in body:
        return "the private table"
    found = _LEAKS.search(body)
    return f"{found[0]!r}" if found and found[0].decode() not in request.text else ""


def _show(request: HostileRequest) -> str:
    return f"{request.method} {request.path[:500]} {request.body[:500]!r}"


def _print(findings: Findings) -> None:
    for fault in findings.faults[:_MAX_SHOWN]:
        print(fault)
    for is_trusted, (seconds, shown) in sorted(findings.slowest.items()):
        token = "with a token" if is_trusted else "without a token"
        print(f"the slowest {token}: {seconds:.1f} s, {shown}")
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(findings.statuses.items()))
    print(f"{findings.statuses.total():,} requests; {counts}; {len(findings.faults)} faults")

"""The clients of a soak: each uses the portal in one way, and checks every answer."""

from __future__ import annotations

import http.client
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, connection

from datastore_search.contrib.files.jobs import retry_load
from datastore_search.contrib.files.models import Load, LoadState

from ..calls import Call, Caller
from .calls import TIMEOUT_SECONDS, UnavailableError, WrongError, call, expect, judge
from .readers import Readers, Readings
from .tables import MATCHING_EVERY, Tables, count_version_rows, submit_version, write_fixed_rows

#: The end of a file whose rows broke off, as its reader is told.
_BROKEN_OFF: Final = "This file is incomplete: the server could not send the rest.\n"

#: A slow reader takes this many bytes at this interval.
_SLOW_BYTES: Final = 16_384
_SLOW_SECONDS: Final = 0.2
_MAX_LOAD_SECONDS: Final = 180
#: What a fault may do to a load.
_FAULTS: Final = {"load.database_lost", "load.interrupted"}


@dataclass(slots=True)
class Findings:
    """What the clients have seen; each list has the errors of the portal."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    quiet_seconds: list[float] = field(default_factory=list)
    busy_seconds: list[float] = field(default_factory=list)
    acknowledged: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    version: int = 0  # the newest that a load has published
    submitted_version: int = 0
    loads: Counter[str] = field(default_factory=Counter)


class Clients:
    """The clients: threads of this process, and the readers of five records."""

    def __init__(self, address: str, tables: Tables) -> None:
        """Take the address of the portal, and its tables."""
        self.findings = Findings()
        self._readers = Readers(address, tables.fixed, tables.rows)
        self._busy_at = math.inf
        self._address, self._tables = address, tables
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._csv = write_fixed_rows(tables.rows)

    def start_readers(self, seconds: float) -> None:
        """Start those that request five records, and nothing else, for so long."""
        self._readers.start(seconds)

    def start_others(self) -> None:
        """Start all others: readers, writers, loads, downloads."""
        self._busy_at = time.monotonic()
        self._start("rankings", self._rank)
        self._start("replaced table", self._read_replaced)
        self._start("writes", self._write)
        self._start("loads", self._load)
        self._start("downloads", self._download)
        self._start("slow reader", self._read_slowly)

    def end(self) -> None:
        """Let all clients finish what they have begun."""
        self._ended.set()
        for thread in self._threads:
            thread.join(_MAX_LOAD_SECONDS)
        for number, readings in enumerate(self._readers.end(), start=1):
            self._add_readings(f"five records {number}", readings)

    def _add_readings(self, name: str, readings: Readings) -> None:
        findings = self.findings
        for outcome, count in readings.outcomes.items():
            findings.outcomes[name, outcome] += count
        findings.wrong += readings.wrong
        for ended_at, seconds in readings.answers:
            is_quiet = ended_at < self._busy_at
            (findings.quiet_seconds if is_quiet else findings.busy_seconds).append(seconds)

    def _start(self, name: str, step: Callable[[], str]) -> None:
        target = partial(self._repeat, name, step)
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _repeat(self, name: str, step: Callable[[], str]) -> None:
        while not self._ended.is_set():
            outcome, error = judge(partial(_use_database, step))
            if error:
                self.findings.wrong.append(f"{name}: {error}"[:500])
            self.findings.outcomes[name, outcome] += 1
            if outcome != "right":
                self._ended.wait(0.1)
        connection.close()

    # Requests --------------------------------------------------------------------------------

    def _search(self, resource_id: str, **parameters: Any) -> Any:
        return self.call("datastore_search", {"resource_id": resource_id, **parameters})

    def call(self, action: str, parameters: Mapping[str, Any], token: str = "") -> Any:
        """
        Call an action, and return its result.

        Raises: ``UnavailableError`` for a 503 as it should be, ``WrongError`` for other failures.
        """
        return call(self._address, action, parameters, token)

    @contextmanager
    def _open_dump(self, parameters: str) -> Iterator[http.client.HTTPResponse]:
        path = f"/en/datastore/dump/{self._tables.fixed}?{parameters}"
        with closing(Caller(self._address, timeout=TIMEOUT_SECONDS)) as caller:
            yield caller.open(Call(self._address, "GET", path))

    # Ways of use -----------------------------------------------------------------------------

    def _rank(self) -> str:
        result = self._search(self._tables.fixed, q="river", limit=20)
        expect(result["total"] == self._tables.rows // MATCHING_EVERY, result["total"])
        expect(all("river" in record["text"] for record in result["records"]), result)
        return "right"

    def _read_replaced(self) -> str:
        oldest = self.findings.version
        result = self._search(self._tables.replaced, limit=50, sort="_id desc")
        newest = self.findings.submitted_version
        (version,) = {record["version"] for record in result["records"]}
        expect(oldest <= version <= newest, (oldest, version, newest))
        expect(result["total"] == count_version_rows(version), (version, result["total"]))
        self._ended.wait(0.05)
        return "right"

    def _write(self) -> str:
        findings = self.findings
        key = len(findings.acknowledged) + len(findings.unknown)
        findings.unknown.add(key)
        parameters = {
            "resource_id": self._tables.written,
            "records": [{"key": key, "text": f"written {key}"}],
            "method": "insert",
        }
        self.call("datastore_upsert", parameters, self._tables.token)
        findings.acknowledged.add(key)
        findings.unknown.discard(key)
        found = self._search(self._tables.written, filters={"key": key})
        expect([record["text"] for record in found["records"]] == [f"written {key}"], found)
        return "right"

    def _load(self) -> str:
        findings = self.findings
        findings.submitted_version += 1
        version = findings.submitted_version
        load = submit_version(self._tables.replaced, version)
        while (state := self._wait_for_load(load)) != LoadState.READY:
            failure = load.failure or {}
            expect(failure.get("code") in _FAULTS, (state, failure))
            findings.loads[str(failure["code"])] += 1
            load = _persist(partial(_retry, load))
        findings.loads["ready"] += 1
        findings.version = version
        return "right"

    def _wait_for_load(self, load: Load) -> str:
        """Wait until a load is over, while its database may be away."""
        deadline = time.monotonic() + _MAX_LOAD_SECONDS
        while time.monotonic() < deadline:
            _persist(load.refresh_from_db)
            if load.is_finished:
                return load.state
            time.sleep(0.2)
        raise WrongError(f"Load {load.pk} is still {load.state}.")

    def _download(self) -> str:
        with self._open_dump("bom=false") as response:
            text = response.read().decode()
        if response.status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise UnavailableError
        expect(response.status == http.HTTPStatus.OK, text[:500])
        if text.endswith(_BROKEN_OFF):
            return "cut off"
        lines = text.replace("\r\n", "\n").split("\n")
        rows = [line.partition(",")[2] for line in lines]  # without _id
        expect(rows == self._csv.split("\n"), (len(rows), rows[:3]))
        return "right"

    def _read_slowly(self) -> str:
        with self._open_dump("format=json") as response:
            while not self._ended.wait(_SLOW_SECONDS):
                if not response.read(_SLOW_BYTES):
                    break
        return "right" if response.status == http.HTTPStatus.OK else "503"


def _use_database(step: Callable[[], str]) -> str:
    """Take a step of this program, whose own database may be away."""
    try:
        return step()
    except (DatabaseError, InterfaceError):
        connection.close()
        return "database away"


def _retry(load: Load) -> Load:
    """Retry a load, unless that was done when the database went away."""
    newest = Load.objects.filter(resource=load.resource_id).latest("pk")
    return retry_load(load) if newest.pk == load.pk else newest


def _persist(step: Callable[[], Any]) -> Any:
    """Repeat a step of this program until its database is there, or for so long."""
    deadline = time.monotonic() + _MAX_LOAD_SECONDS
    while True:
        try:
            return step()
        except (DatabaseError, InterfaceError):
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)

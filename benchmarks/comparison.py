"""Each request to the portal, to the floor and to CKAN, in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from .addresses import Ckan, Portal
from .calls import build_conditional_call
from .credentials import set_visibility
from .floor import Floor
from .requests import Request
from .resources import LoadedResource
from .statements import record_statements
from .timing import PARALLEL_CONNECTIONS, Pace, Served, TimedCalls, Timing


@dataclass(frozen=True, slots=True)
class Figures:
    """
    The times of one request.

    ``floor`` is None if the portal sent no statement, ``ckan`` if CKAN was not measured.
    """

    answer_bytes: int
    statements: int
    portal: Served
    floor: Timing | None
    ckan: Served | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The servers that are timed in turn, and the pace."""

    pace: Pace
    portal: Portal
    floor: Connection[Any]
    ckan: Ckan | None

    def measure_request(self, request: Request, target: LoadedResource) -> Figures | None:
        """
        Time a request to each of them, round by round; None for a repeated one without ETag.

        Raises: ``BenchmarkError`` when an answer is not the expected one.
        """
        with set_visibility(target.resource, private=request.private):
            call = self.portal.build_call(request, target.id)
            timed_call = build_conditional_call(call) if request.repeated else call
            if timed_call is None:
                return None
            portal_calls = TimedCalls([timed_call])
            statements = record_statements(portal_calls.calls[0])
            floor = Floor(self.floor, statements)
            ckan_call = self.ckan.build_call(request) if self.ckan else None
            ckan_calls = TimedCalls([ckan_call]) if ckan_call else None
            for _ in range(self.pace.rounds):
                self._time_round(portal_calls, floor, ckan_calls)
        return Figures(
            answer_bytes=portal_calls.answer_bytes,
            statements=len(statements),
            portal=portal_calls.served,
            floor=floor.timing,
            ckan=ckan_calls.served if ckan_calls else None,
        )

    def _time_round(
        self, portal_calls: TimedCalls, floor: Floor, ckan_calls: TimedCalls | None
    ) -> None:
        servers = [portal_calls, ckan_calls] if ckan_calls else [portal_calls]
        for connections in (1, PARALLEL_CONNECTIONS):
            for server in servers:
                if connections > 1 and server.is_long:
                    continue
                server.time(connections, self.pace.seconds)
                if server is portal_calls and connections == 1:
                    floor.replay(self.pace.seconds)

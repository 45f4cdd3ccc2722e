"""The router that lets read requests use a replica, and the state of the replicas."""

from __future__ import annotations

import logging
import math
from collections import defaultdict, deque
from collections.abc import Collection, Generator, Sequence
from contextvars import Context, ContextVar
from time import monotonic
from typing import Any, Final, NamedTuple
from weakref import ref

import psycopg
from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from ...guards.cache import BriefCache
from ...messages.availability import DatabaseUnreachable
from ...models import Resource
from .conf import conf

logger = logging.getLogger(__name__)

#: The database that the current request reads from; empty outside of a read request.
chosen_alias: ContextVar[str] = ContextVar("chosen_alias", default="")


def find_primary(model: Any = Resource) -> str:
    return Context().run(router.db_for_write, model)  # without a chosen one


class ReplicaRouter:
    """In a read request it returns the chosen database; elsewhere it has no opinion."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        alias = chosen_alias.get()
        return alias if alias and find_primary(model) == find_primary() else None

    def db_for_write(self, model: Any, *, is_reading: bool = False, **hints: Any) -> str | None:
        """Return the chosen database for models of the app, which read where they write."""
        is_own = model._meta.app_label.startswith("datastore_search")
        return self.db_for_read(model) if is_own or is_reading else None


#: Whether it is a standby, its position (of a primary, what is written), the position that it has
#: received, its receiver, and how old that is: without the role ``pg_read_all_stats``, at most.
_STATE: Final = """
SELECT is_standby, (CASE WHEN is_standby THEN pg_last_wal_replay_lsn()
    ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint,
  (pg_last_wal_receive_lsn() - '0/0')::bigint, pid,
  coalesce(extract(epoch FROM clock_timestamp() - last_msg_receipt_time), nullif(extract(
    epoch FROM current_setting('wal_receiver_timeout')::interval), 0), 'Infinity')::float8
FROM (SELECT pg_is_in_recovery() AS is_standby) AS server LEFT JOIN pg_stat_wal_receiver ON true
"""

#: A position that no replica reaches.
UNREACHED: Final = 2**64

#: How long a server may be silent; libpq's limits for replicas whose ``OPTIONS`` have none.
_SILENT_SECONDS: Final = 2
_LIMITS: Final = {"connect_timeout": 2, "tcp_user_timeout": 10_000, "keepalives_idle": 5}


class State(NamedTuple):
    """What a server has answered; a replica has all that was committed before ``fresh_at``."""

    fresh_at: float
    position: int
    receiver: int | None
    is_connected: bool
    at: float


#: By alias; one thread at a time asks, once a second, and the others do not wait.
states: Final[defaultdict[str, BriefCache[State | None]]] = defaultdict(BriefCache)

#: The last answers; and moments, each with a position after all that was committed before it.
_known: Final[dict[str, State]] = {}
_moments: Final[deque[tuple[float, int]]] = deque(maxlen=1000)


def get_max_age() -> float:
    """Get how many seconds old what is read may be; servers are asked once a second."""
    return conf.MAX_REPLICA_LAG.total_seconds() + 2


def get_state(alias: str) -> State | None:
    """Get what a server has answered lately; None if it does not answer."""
    connection, state = connections[alias], None
    with states[alias].refresh() as is_due:
        if is_due:
            if alias in conf.REPLICAS:
                options = connection.settings_dict["OPTIONS"]
                options.update({**_LIMITS, **options})
            at, token = monotonic(), chosen_alias.set(alias)
            try:
                with connection.cursor() as cursor:
                    cursor.execute(_STATE)
                    state = _known[alias] = _judge(alias, at, cursor.fetchone())
            except (Error, DatabaseUnreachable) as error:
                if getattr(states[alias], "value", True):
                    logger.warning("The database “%s” does not answer: %s", alias, error)
                connection.close()
            finally:
                chosen_alias.reset(token)
                states[alias].set(state)
    state = states[alias].value  # which is old while the server does not answer another thread
    return state if state and monotonic() - state.at < 5 * BriefCache.max_age_seconds else None


def _judge(alias: str, at: float, row: tuple[Any, ...]) -> State:
    """
    Judge how fresh a replica is: by positions of the primary, or by what it receives itself.

    A receiver counts if it was there before: one that is refused begins again and again.
    """
    is_standby, position, received, receiver, age = row
    before, oldest = _known.get(alias), at - get_max_age()
    fresh_at = before.fresh_at if before and is_standby else -math.inf
    if alias == find_primary() and not is_standby:
        _moments.append((at, position))
    is_same = receiver and before and receiver == before.receiver and before.at > oldest
    if is_same:
        _moments.append((at - age, received or UNREACHED))
        fresh_at = max([fresh_at, *(moment for moment, end in [*_moments] if end <= position)])
    return State(fresh_at, position, receiver, bool(is_same), at)


def choose_replica(
    ranked: Sequence[str], written: int, failed: Collection[str], *, is_away: bool
) -> str | None:
    """
    Choose the first replica that is fresh, and has replayed what is ``written``.

    For a client that ``is_away`` from its first one, that is what it has seen last.  Otherwise it
    may have seen all that its first one has, so the next one must be level with all servers.
    """
    is_silent, oldest = not get_state(find_primary()), monotonic() - get_max_age()
    for alias in ranked:
        state = get_state(alias)
        is_fresh = state and state.fresh_at >= oldest and (state.is_connected or is_silent)
        if state and is_fresh and state.position >= written and alias not in failed:
            return alias
        if not (is_away or is_silent):
            written = max([written, *(each.position for each in [*_known.values()])])
    return None


# Limits on this side ------------------------------------------------------------------------------


def limit_waits(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Limit the waits of a new connection for reads; writes to the primary have no limit here."""
    alias, driver = connection.alias, connection.connection
    if not conf.REPLICAS or alias not in {find_primary(), *conf.REPLICAS}:
        return
    own, wait, parameters = ref(driver), type(driver).wait, connection.get_connection_params()

    # The steps of a wait are passed on, which psycopg also wakes while nothing arrives. A silent
    # server must accept another connection: so a slow search goes on, and a server that is frozen
    # or cut off is left.
    def limit(steps: Generator[Any, Any, Any], driver: Any) -> Any:
        try:
            wanted, heard_at = next(steps), monotonic()
            while True:
                ready = yield wanted
                if not ready and monotonic() - heard_at > _SILENT_SECONDS:
                    try:
                        psycopg.connect(**{**_LIMITS, **parameters}).close()
                    except psycopg.Error as error:
                        driver.close()
                        raise DatabaseUnreachable from error
                    heard_at = monotonic()
                elif ready:
                    heard_at = monotonic()
                wanted = steps.send(ready)
        except StopIteration as end:
            return end.value

    def wait_within_limit(steps: Any, *more: Any, **options: Any) -> Any:
        if alias in {chosen_alias.get(), *conf.REPLICAS}:
            steps = limit(steps, own())
        return wait(own(), steps, *more, **options)

    driver.wait = wait_within_limit

"""The router that lets read requests use a replica, and the state of the replicas."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from contextvars import Context, ContextVar
from time import monotonic
from typing import Any, Final

from django.db import Error, connections, router

from ...guards.cache import BriefCache
from ...models import Resource
from .conf import conf

#: The database that the current request reads from; empty outside of a read request.
chosen_alias: ContextVar[str] = ContextVar("chosen_alias", default="")


def find_primary(model: Any = Resource) -> str:
    """Find the database that a model is written to."""
    return Context().run(router.db_for_write, model)  # without a chosen one


class ReplicaRouter:
    """In a read request it returns the chosen database; elsewhere it has no opinion."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        """Return the chosen database."""
        alias = chosen_alias.get()
        return alias if alias and find_primary(model) == find_primary() else None

    def db_for_write(self, model: Any, *, is_reading: bool = False, **hints: Any) -> str | None:
        """Return the chosen database for models of the app, which read where they write."""
        is_own = model._meta.app_label.startswith("datastore_search")
        return self.db_for_read(model) if is_own or is_reading else None


#: The lag (an idle primary is none), the replayed bytes of the WAL, whether there is a receiver.
_STATE: Final = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN 'Infinity'"
    " WHEN pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() THEN coalesce("
    "extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 'Infinity') ELSE 0 END::float8,"
    " (pg_last_wal_replay_lsn() - '0/0')::bigint, EXISTS (SELECT FROM pg_stat_wal_receiver)"
)

#: By alias; one thread at a time asks, once a second, and the others do not wait.
states: Final[defaultdict[str, BriefCache[Any]]] = defaultdict(BriefCache)


def get_state(alias: str) -> Any:
    """Get lag, position, whether there is a receiver, and when that was; None without an answer."""
    with states[alias].refresh() as is_due:
        if is_due:
            try:
                with connections[alias].cursor() as cursor:
                    cursor.execute(_STATE)
                    states[alias].set((*cursor.fetchone(), monotonic()))
            except Error:
                connections[alias].close()
                states[alias].set(None)
    state = states[alias].value  # which is old while the server does not answer another thread
    return state if state and monotonic() - state[-1] < 5 * BriefCache.max_age_seconds else None


def choose_replica(primary: str, client: int, written: int, failed: Collection[str]) -> str | None:
    """Choose the replica of a client that has replayed what is ``written``, if there is one."""
    usable: dict[str, bool] = {}
    for alias in set(conf.REPLICAS).difference(failed):
        lag_seconds, replayed, is_connected, _at = get_state(alias) or (math.inf, 0, False, 0)
        if lag_seconds <= conf.MAX_REPLICA_LAG.total_seconds() and replayed >= written:
            usable[alias] = is_connected
    chosen = sorted(filter(usable.get, usable))
    if not chosen and usable and not get_state(primary):  # then there is nothing newer
        chosen = sorted(usable)
    return chosen[client % len(chosen)] if chosen else None

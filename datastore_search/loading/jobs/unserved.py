"""
Tables that no resource serves, and when they may be dropped.

What loading has replaced or given up goes at once.  A table that was served and lost its resource
in any other way, by a program of the portal or a restore that is not over, is kept for a while, so
that it can be given back.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q
from django.utils import timezone

from ... import storage
from ...conf import conf
from ...models import FINISHED, Load, LoadState

#: Loads whose tables nobody misses: they were never served, or their resource has a newer one.
_DONE_WITH = Q(state__in=FINISHED - {LoadState.READY}) | Q(
    state=LoadState.READY, resource__current_load__finished_at__gt=F("finished_at")
)


def select_tables_to_drop(connection: BaseDatabaseWrapper, unserved: AbstractSet[int]) -> set[int]:
    """Choose the tables to drop among those that nothing serves or fills, by their loads."""
    known = Load.objects.using(connection.alias).filter(pk__in=unserved)
    done_with = set(known.filter(_DONE_WITH).values_list("pk", flat=True))
    now = timezone.now()
    lost = unserved - done_with
    since = storage.unserved_since(connection, lost)
    for load_id in lost - since.keys():
        storage.note_unserved(connection, load_id, now)
    expired = {each for each in lost if since.get(each, now) + conf.KEEP_UNSERVED <= now}
    return done_with | expired


def clear_unserved_marks(connection: BaseDatabaseWrapper, served: AbstractSet[int]) -> None:
    """Let tables that are served count as such, though they were not for a while."""
    for load_id in storage.unserved_since(connection, served):
        storage.note_unserved(connection, load_id, None)


def list_kept_tables(connection: BaseDatabaseWrapper) -> dict[int, datetime]:
    """List the tables that are kept although no resource serves them, and until when."""
    since = storage.unserved_since(connection, storage.stored_loads(connection))
    until = {load_id: noted + conf.KEEP_UNSERVED for load_id, noted in sorted(since.items())}
    return {load_id: moment for load_id, moment in until.items() if moment > timezone.now()}

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
from ...models import FINISHED, TableVersion

#: Table versions that are not needed: never published, or replaced by a newer one.
_DONE_WITH = Q(published_at=None, load__state__in=FINISHED) | Q(
    resource__table_version__published_at__gt=F("published_at")
)


def select_tables_to_drop(connection: BaseDatabaseWrapper, unserved: AbstractSet[int]) -> set[int]:
    """Choose the tables to drop among those that nothing serves or fills."""
    known = TableVersion.objects.using(connection.alias).filter(pk__in=unserved)
    done_with = set(known.filter(_DONE_WITH).values_list("pk", flat=True))
    now = timezone.now()
    lost = unserved - done_with
    since = storage.read_unserved_since(connection, lost)
    for table_id in lost - since.keys():
        storage.mark_unserved(connection, table_id, now)
    expired = {each for each in lost if since.get(each, now) + conf.KEEP_UNSERVED <= now}
    return done_with | expired


def clear_unserved_marks(connection: BaseDatabaseWrapper, served: AbstractSet[int]) -> None:
    """Let tables that are served count as such, though they were not for a while."""
    for table_id in storage.read_unserved_since(connection, served):
        storage.mark_unserved(connection, table_id, None)


def list_kept_tables(connection: BaseDatabaseWrapper) -> dict[int, datetime]:
    """List the tables that are kept although no resource serves them, and until when."""
    since = storage.read_unserved_since(connection, storage.list_record_tables(connection))
    until = {table_id: noted + conf.KEEP_UNSERVED for table_id, noted in sorted(since.items())}
    return {table_id: moment for table_id, moment in until.items() if moment > timezone.now()}

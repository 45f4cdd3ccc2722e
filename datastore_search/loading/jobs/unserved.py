"""
Decide when tables that no resource serves may be dropped.

A table that a load has replaced, or did not complete, is dropped at once.  A table that lost its
resource in another way, such as a statement of the portal or a restore that is not complete, is
dropped after ``RETENTION``; until then it can be restored.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q
from django.utils import timezone

from ... import storage
from ...models import FINISHED, TableVersion

#: The time for which a table is kept that was served, and has lost its resource in another way than
#: by loading, writing or deleting through this package.
RETENTION = timedelta(days=7)

#: Table versions that are not needed: never published, or replaced by a newer one.
_NOT_NEEDED = Q(published_at=None, load__state__in=FINISHED) | Q(
    resource__table_version__published_at__gt=F("published_at")
)


def select_tables_to_drop(connection: BaseDatabaseWrapper, unserved: AbstractSet[int]) -> set[int]:
    """Select the tables to drop among those that are neither served nor being filled."""
    known = TableVersion.objects.using(connection.alias).filter(pk__in=unserved)
    not_needed = set(known.filter(_NOT_NEEDED).values_list("pk", flat=True))
    now = timezone.now()
    lost = unserved - not_needed
    since = storage.read_unserved_since(connection, lost)
    for table_id in lost - since.keys():
        storage.mark_unserved(connection, table_id, now)
    expired = {each for each in lost if since.get(each, now) + RETENTION <= now}
    return not_needed | expired


def clear_unserved_marks(connection: BaseDatabaseWrapper, served: AbstractSet[int]) -> None:
    """Clear the marks of tables that are served again."""
    for table_id in storage.read_unserved_since(connection, served):
        storage.mark_unserved(connection, table_id, None)


def list_kept_tables(connection: BaseDatabaseWrapper) -> dict[int, datetime]:
    """Map the tables that no resource serves, and that may not be dropped yet, to that moment."""
    since = storage.read_unserved_since(connection, storage.list_record_tables(connection))
    until = {table_id: since_when + RETENTION for table_id, since_when in sorted(since.items())}
    return {table_id: moment for table_id, moment in until.items() if moment > timezone.now()}

"""Who has changed records: entries of the admin's history, where Django's admin is installed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connections, router, transaction
from django.utils import timezone

from ..database.statements import write_rows
from ..models import Resource

#: The changes of a user to a resource within this time are one entry of each process.
_MAX_AGE: Final = timedelta(minutes=10)
_MAX_ENTRIES: Final = 1_000

#: By user and resource: the entry, and when it began.
_entries: dict[tuple[Any, Any], tuple[int, float]] = {}

#: What Django shows in the language of the reader.
_MESSAGE: Final = (
    '[{"added": {"name": "records", "object": "%s"}},'
    ' {"changed": {"name": "records", "object": "%s", "fields": ["values"]}},'
    ' {"deleted": {"name": "records", "object": "%s"}}]'
)

_ADD: Final = """
UPDATE django_admin_log SET action_time = %s, change_message = format(
    %s,
    (change_message::json #>> '{0,added,object}')::bigint + %s,
    (change_message::json #>> '{1,changed,object}')::bigint + %s,
    (change_message::json #>> '{2,deleted,object}')::bigint + %s
) WHERE id = %s AND change_message LIKE %s
"""


def record_changes(user: Any, resource: Resource, counts: Mapping[str, int], using: str) -> None:
    """
    Add the numbers of records that a user has ``added``, ``updated`` and ``deleted`` to an entry.

    It is part of the transaction of the records, if the history is in their database.
    """
    is_known = isinstance(user, get_user_model()) and not user._state.adding
    if not (is_known and any(counts.values()) and apps.is_installed("django.contrib.admin")):
        return
    from django.contrib.admin.models import LogEntry  # noqa: PLC0415 - only where it is installed

    write = partial(_write_entry, router.db_for_write(LogEntry), user.pk, resource, dict(counts))
    if write.args[0] == using:
        write()
    else:
        transaction.on_commit(write, using=using, robust=True)


def _write_entry(using: str, user_id: Any, resource: Resource, counts: Mapping[str, int]) -> None:
    from django.contrib.admin.models import CHANGE, LogEntry  # noqa: PLC0415 - see above
    from django.contrib.contenttypes.models import ContentType  # noqa: PLC0415 - see above

    numbers = [counts.get(name, 0) for name in ("added", "updated", "deleted")]
    key, now, connection = (user_id, resource.pk), time.monotonic(), connections[using]
    entry, began = _entries.get(key, (0, -math.inf))
    # Without a row, a transaction was rolled back with the entry, or someone has deleted it.
    is_recent = now - began < _MAX_AGE.total_seconds() and connection.vendor == "postgresql"
    found = [entry, _MESSAGE.replace("%s", "%")]
    if is_recent and write_rows(connection, _ADD, [timezone.now(), _MESSAGE, *numbers, *found]):
        return
    new = LogEntry.objects.using(using).create(
        user_id=user_id,
        content_type=ContentType.objects.db_manager(using).get_for_model(Resource),
        object_id=str(resource.pk),
        object_repr=str(resource)[:200],
        action_flag=CHANGE,
        change_message=_MESSAGE % tuple(numbers),
    )
    if len(_entries) > _MAX_ENTRIES:
        _entries.clear()
    _entries[key] = new.pk, now

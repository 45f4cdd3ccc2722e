"""Who has changed records: entries of the admin's history, where Django's admin is installed."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import zip_longest
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

#: By user and resource: the entry, when it began, and its message.
_entries: dict[tuple[Any, Any], tuple[int, float, str]] = {}

_REPLACE: Final = (
    "UPDATE django_admin_log SET action_time = %s, change_message = %s"
    " WHERE id = %s AND change_message = %s"
)


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
    key, now = (user_id, resource.pk), time.monotonic()
    entries = LogEntry.objects.using(using)
    entry, began, known = _entries.get(key, (0, -math.inf, ""))
    while now - began < _MAX_AGE.total_seconds() and known:
        message = _build_message(numbers, known)
        if write_rows(connections[using], _REPLACE, [timezone.now(), message, entry, known]):
            _entries[key] = entry, began, message
            return
        # A transaction was rolled back; without a message, the entry with it.
        rows = entries.filter(pk=entry).values_list("change_message", flat=True)
        known = rows.first() or ""
    message = _build_message(numbers)
    new = entries.create(
        user_id=user_id,
        content_type=ContentType.objects.db_manager(using).get_for_model(Resource),
        object_id=str(resource.pk),
        object_repr=str(resource)[:200],
        action_flag=CHANGE,
        change_message=message,
    )
    if len(_entries) > _MAX_ENTRIES:
        _entries.clear()
    _entries[key] = new.pk, now, message


def _build_message(numbers: Sequence[int], before: str = "") -> str:
    """Build what Django shows in the language of the reader, with the sums."""
    old = [int(each["object"]) for part in json.loads(before or "[]") for each in part.values()]
    sums = [str(number + last) for number, last in zip_longest(numbers, old, fillvalue=0)]
    added, changed, deleted = ({"name": "records", "object": number} for number in sums)
    return json.dumps(
        [{"added": added}, {"changed": {**changed, "fields": ["values"]}}, {"deleted": deleted}]
    )

"""Who has changed records: entries of the admin's history, where Django's admin is installed."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connections, router, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from ..database.statements import write_rows
from ..models import Resource

#: The changes of a user to a resource within this time are one entry of each process.
_MAX_AGE: Final = timedelta(minutes=10)
_MAX_ENTRIES: Final = 1_000

#: By user and resource: the entry, when it began, and its numbers.
_entries: dict[tuple[Any, Any], tuple[int, float, Sequence[int]]] = {}

#: How Django names the numbers that are not zero, in the language of the reader.
_VERBS: Final = {"added": {}, "changed": {"fields": [gettext_noop("values")]}, "deleted": {}}

#: An entry with another message is not changed: what has written ``_entries`` was rolled back.
_ADD: Final = """
UPDATE django_admin_log SET action_time = %s, change_message = %s
WHERE id = %s AND change_message = %s
"""


def record_changes(user: Any, resource: Resource, counts: Mapping[str, int], using: str) -> None:
    """
    Add the numbers of records that a user has ``added``, ``updated`` and ``deleted`` to an entry.

    It is part of the transaction of the records, if the history is in their database.
    """
    is_known = isinstance(user, get_user_model()) and not user._state.adding
    if not (is_known and any(counts.values()) and apps.is_installed("django.contrib.admin")):
        return
    alias = router.db_for_write(apps.get_model("admin", "LogEntry"))
    if alias != using:
        record = partial(record_changes, user, resource, dict(counts), alias)
        transaction.on_commit(record, using=using, robust=True)
        return
    numbers = [counts.get(name, 0) for name in ("added", "updated", "deleted")]
    key, now = (user.pk, resource.pk), time.monotonic()
    entry, began, before = _entries.get(key, (0, -math.inf, numbers))
    if now - began < _MAX_AGE.total_seconds():
        sums = [old + new for old, new in zip(before, numbers, strict=True)]
        messages = [_write_message(sums), entry, _write_message(before)]
        if write_rows(connections[using], _ADD, [timezone.now(), *messages]):
            _entries[key] = entry, began, sums
            return
    from django.contrib.admin.models import CHANGE, LogEntry  # noqa: PLC0415 - if it is installed
    from django.contrib.contenttypes.models import ContentType  # noqa: PLC0415 - see above

    new = LogEntry.objects.using(using).create(
        user_id=user.pk,
        content_type=ContentType.objects.db_manager(using).get_for_model(Resource),
        object_id=str(resource.pk),
        object_repr=str(resource)[:200],
        action_flag=CHANGE,
        change_message=_write_message(numbers),
    )
    if len(_entries) > _MAX_ENTRIES:
        _entries.clear()
    _entries[key] = new.pk, now, numbers


def _write_message(numbers: Sequence[int]) -> str:
    parts = zip(_VERBS.items(), numbers, strict=True)
    return json.dumps(
        [
            {verb: {"name": "records", "object": str(number), **more}}
            for (verb, more), number in parts
            if number
        ]
    )

"""What clients have written, so that they read it: positions in the WAL, in Django's cache."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_out
from django.db import Error, connections, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from knox.models import get_token_model

from ...database.writes import Report
from ...guards.cache import CacheUnavailable, shared_cache
from ...models import Resource
from .conf import conf
from .routers import find_primary

_KEY: Final = "datastore_search.written.{}"

#: The fields that a login or a load changes, on which no permission depends.
_HARMLESS: Final = {"last_login", "modified_at", "options", "primary_key", "table_version"}


def list_keys(request: Any) -> list[str]:
    """List the digests of what names the client of a request."""
    sent = [request.META.get(each) for each in ("HTTP_AUTHORIZATION", "HTTP_X_CKAN_API_KEY")]
    sent.append(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return [blake2b(each.encode(), digest_size=16).hexdigest() for each in sent if each]


def find_written(*keys: str) -> int:
    """Find the position that a replica must have replayed: for everyone, a client, a resource."""
    try:
        found = shared_cache.get_many(map(_KEY.format, ("everyone", *keys)))
    except CacheUnavailable:  # then the primary answers
        return 2**64
    return max(found.values(), default=0)


def remember_write(keys: Iterable[str], **_signal: Any) -> None:
    """Remember the present position of the WAL: what was committed before must be seen."""
    position = 2**64  # which no replica reaches
    with suppress(Error), connections[find_primary()].cursor() as cursor:
        # Without ``synchronous_commit``, the written position may be before the commit.
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        (position,) = cursor.fetchone()
    seconds = conf.MAX_REPLICA_LAG.total_seconds() + 60  # PostgreSQL's ``wal_receiver_timeout``
    with suppress(CacheUnavailable):  # a commit is not an error without a cache
        shared_cache.set_many(dict.fromkeys(map(_KEY.format, keys), position), seconds)


def watch_changes() -> None:
    """Let everyone see changes of permissions, and on the pages of a resource its last load."""
    user: Any = get_user_model()
    relations = [getattr(user, name, None) for name in ("groups", "user_permissions")]
    for signal, senders in (
        (post_save, (user, Resource)),
        (post_delete, (user, Group, Resource, get_token_model())),
        (m2m_changed, [each.through for each in (*relations, Group.permissions) if each]),
        (user_logged_out, (user,)),
    ):
        for sender in senders:
            signal.connect(_note_change, sender=sender)


def _note_change(*, update_fields: Any = None, created: bool = False, **signal: Any) -> None:
    is_harmless = update_fields and update_fields <= _HARMLESS
    key = f"load.{signal['instance'].pk}" if is_harmless else "everyone"
    if conf.REPLICAS and not created:  # a row that is new is looked up in the primary
        transaction.on_commit(Report(remember_write, [key]), using=find_primary(), robust=True)

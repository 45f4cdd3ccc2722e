"""Positions in the WAL, in Django's cache, so that clients read what they have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.auth.signals import user_logged_out
from django.db import Error, connections, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from knox.models import get_token_model

from ...contributions import Contribution, receive
from ...database.statements import Report
from ...guards.cache import CacheUnavailable, shared_cache
from ...messages.availability import DatabaseUnreachable
from ...models import Resource
from ...signals import resource_written
from .conf import conf
from .routers import UNREACHED, find_primary

_KEY: Final = "datastore_search.written.{}"

#: The fields that a login or a load changes, on which no permission depends.
_HARMLESS: Final = {"last_login", "modified_at", "options", "primary_key", "table_version"}


def list_keys(request: Any) -> list[str]:
    """List the digests of a client's token, key and session."""
    sent = [request.META.get(each) for each in ("HTTP_AUTHORIZATION", "HTTP_X_CKAN_API_KEY")]
    sent.append(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return [blake2b(each.encode(), digest_size=16).hexdigest() for each in sent if each]


def find_positions(*keys: str) -> dict[str, int]:
    """Find the positions that a replica must have replayed: for everyone, and of some keys."""
    names = {_KEY.format(key): key for key in ("everyone", *keys)}
    try:
        found = shared_cache.get_many(names)
    except CacheUnavailable:  # then the primary answers
        return {"everyone": UNREACHED}
    return {names[name]: position for name, position in found.items()}


def find_written(*keys: str) -> int:
    """Find the position that a replica must have replayed, whichever key demands it."""
    return max(find_positions(*keys).values(), default=0)


def remember_write(keys: Iterable[str], *, alias: str = "", **_signal: Any) -> None:
    """Remember the present position of a server: what was committed before must be seen."""
    position, server = UNREACHED, connections[alias or find_primary()]
    with suppress(Error, DatabaseUnreachable), server.cursor() as cursor:
        # Without ``synchronous_commit``, the written position may be before the commit.
        cursor.execute(
            "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
            " WHEN %s THEN pg_current_wal_flush_lsn() ELSE pg_current_wal_insert_lsn() END"
            " - '0/0')::bigint",
            [bool(alias)],
        )
        (position,) = cursor.fetchone()
    seconds = conf.MAX_REPLICA_LAG.total_seconds() + 60
    with suppress(CacheUnavailable):  # a commit is not an error without a cache
        shared_cache.set_many(dict.fromkeys(map(_KEY.format, keys), position), seconds)


def remember_seen(key: str, alias: str) -> None:
    """Remember what a client has seen away from its first replica; forget it when it is back."""
    if alias:
        remember_write([key], alias=alias)
    else:
        with suppress(CacheUnavailable):
            shared_cache.delete(_KEY.format(key))


def list_watched_changes() -> Iterator[Contribution]:
    """Let everyone see changes of permissions, and on the pages of a resource its last load."""
    user: Any = get_user_model()
    relations = [getattr(user, name, None) for name in ("groups", "user_permissions")]
    dataset = apps.all_models["datastore_search_catalogue"].get("dataset")
    granted = Permission._meta.get_fields(include_hidden=True)  # of objects, as by django-guardian
    of_objects = {each.related_model for each in granted if each.one_to_many}
    watched = {user, Resource, *of_objects, *filter(None, [dataset])}
    through = [each.through for each in (*relations, Group.permissions) if each]
    yield receive(resource_written, _note_dropped_table)
    yield receive(post_save, note_change, *watched)
    yield receive(post_delete, note_change, *watched, Group, get_token_model())
    yield receive(m2m_changed, note_change, *through)
    yield receive(user_logged_out, note_change, user)


def _note_dropped_table(*, resource: Resource, **_signal: Any) -> None:
    if conf.REPLICAS and resource.table_version is None:
        remember_write(["everyone"])


def note_change(*, update_fields: Any = None, created: bool = False, **signal: Any) -> None:
    """Let everyone see a change of a row on which permissions depend; a receiver of signals."""
    is_harmless = update_fields and update_fields <= _HARMLESS
    key = f"load.{signal['instance'].pk}" if is_harmless else "everyone"
    if conf.REPLICAS and not created:  # a row that is new is looked up in the primary
        transaction.on_commit(Report(remember_write, [key]), using=find_primary(), robust=True)

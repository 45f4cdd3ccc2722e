"""API tokens; django-rest-knox stores their hashes."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import router
from django.utils import timezone
from knox.crypto import hash_token
from knox.models import get_token_model
from psycopg import sql


def issue_token(user: AbstractBaseUser, *, expires_at: datetime | None = None) -> str:
    """
    Issue a token and return its text, of which only the hash is stored.

    Without ``expires_at`` it does not expire.

    Source: CKAN, whose API tokens have no expiry unless one is chosen.
    """
    expiry = expires_at - timezone.now() if expires_at else None
    _, token = get_token_model().objects.create(user, expiry=expiry)
    return str(token)


def find_token_user(token: str) -> AbstractBaseUser | None:
    """
    Find the user of a token; None if it is unknown or expired, or its user inactive.

    The hash is the primary key of the table, so this is one look-up however many tokens a user has.
    Many requests make it, so its SQL is built once: a QuerySet would take longer to build it than
    PostgreSQL takes to run it.
    """
    users = get_user_model()._default_manager  # noqa: SLF001 - Django documents it: `objects` may be missing
    # The database that issues and revokes tokens, unless a read request is answered by a replica.
    alias = router.db_for_write(get_token_model(), is_reading=True)
    rows = users.raw(_build_token_query(), [hash_token(token), timezone.now()], using=alias)
    user: AbstractBaseUser | None = next(iter(rows), None)
    return user if user is not None and user.is_active else None


@cache
def _build_token_query() -> str:
    """Build the SQL that finds the user of a digest at a time."""
    tokens = get_token_model()._meta
    users = get_user_model()._meta
    columns = {name: tokens.get_field(name).column for name in ("user", "digest", "expiry")}
    text = sql.SQL(
        "SELECT users.* FROM {users} AS users JOIN {tokens} AS tokens"
        " ON tokens.{user} = users.{id}"
        " WHERE tokens.{digest} = %s AND (tokens.{expiry} IS NULL OR tokens.{expiry} > %s)"
    ).format(
        users=sql.Identifier(users.db_table),
        tokens=sql.Identifier(tokens.db_table),
        id=sql.Identifier(str(users.pk.column)),
        **{name: sql.Identifier(column) for name, column in columns.items()},
    )
    return text.as_string()

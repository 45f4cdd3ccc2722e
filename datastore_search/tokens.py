"""API tokens, kept as hashes by django-rest-knox."""

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


def issue_token(user: AbstractBaseUser, *, until: datetime | None = None) -> str:
    """
    Issue a token and return it: it can never be read again.

    Without ``until`` it does not expire.

    Source: CKAN, whose API tokens have no expiry unless one is chosen.
    """
    expiry = until - timezone.now() if until else None
    _, token = get_token_model().objects.create(user, expiry=expiry)
    return str(token)


def find_token_user(token: str) -> AbstractBaseUser | None:
    """
    Find whose token this is; None when it is unknown, expired, or its user inactive.

    The hash is the key of the table, so this is one look-up by primary key however many tokens a
    user has.  Every request that must know who asks makes it, so the statement is written once: to
    have it written by a QuerySet each time takes longer than PostgreSQL does.
    """
    users = get_user_model()._default_manager  # noqa: SLF001 - Django documents it: `objects` may be missing
    # Where tokens are issued and revoked: a replica knows the new ones late, and the others longer.
    alias = router.db_for_write(get_token_model())
    found = users.raw(_build_token_query(), [hash_token(token), timezone.now()], using=alias)
    user: AbstractBaseUser | None = next(iter(found), None)
    return user if user is not None and user.is_active else None


@cache
def _build_token_query() -> str:
    """Write the statement that finds whose a digest is, at a moment."""
    tokens = get_token_model()._meta  # noqa: SLF001 - Django documents it: the table's names
    users = get_user_model()._meta  # noqa: SLF001 - Django documents it: the table's names
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

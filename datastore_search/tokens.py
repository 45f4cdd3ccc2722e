"""API tokens, kept as hashes by django-rest-knox."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils import timezone
from knox.crypto import hash_token
from knox.models import get_token_model


def issue_token(user: AbstractBaseUser, *, until: datetime | None = None) -> str:
    """
    Issue a token and return it: it can never be read again.

    Without ``until`` it does not expire.

    Source: CKAN, whose API tokens have no expiry unless one is chosen.
    """
    expiry = until - timezone.now() if until else None
    _, token = get_token_model().objects.create(user, expiry=expiry)
    return str(token)


def user_of(token: str) -> AbstractBaseUser | None:
    """
    Find whose token this is; None when it is unknown, expired, or its user inactive.

    The hash is the key of the table, so this is one look-up by primary key however many tokens a
    user has.
    """
    found = (
        get_token_model()
        .objects.select_related("user")
        .filter(Q(expiry=None) | Q(expiry__gt=timezone.now()), digest=hash_token(token))
        .first()
    )
    if found is None or not found.user.is_active:
        return None
    user: AbstractBaseUser = found.user
    return user

"""API tokens; django-rest-knox stores their hashes, by which ``api.authentication`` finds them."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone
from knox.models import get_token_model


def issue_token(user: AbstractBaseUser, *, expires_at: datetime | None = None) -> str:
    """
    Issue a token and return its text, of which only the hash is stored.

    Without ``expires_at`` it does not expire.

    Source: CKAN, whose API tokens have no expiry unless one is chosen.
    """
    expiry = expires_at - timezone.now() if expires_at else None
    _, token = get_token_model().objects.create(user, expiry=expiry)
    return str(token)

"""The user of a request while the database that has the session does not answer."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest


def forget_unreadable_user(request: HttpRequest) -> None:
    """Make the user of a request anonymous if the database cannot tell who it is."""
    try:
        _ = request.user.is_authenticated
    except (DatabaseError, InterfaceError):
        request.user = AnonymousUser()

"""Authentication by the bare token of the ``Authorization`` header."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..tokens import find_token_user


class BareTokenAuthentication(BaseAuthentication):
    """
    Take the whole value of ``Authorization`` as an API token.

    A token that is not valid makes the request anonymous, as in CKAN; no other class is tried.  A
    value with a blank belongs to another scheme, such as ``Bearer``, so the next class is tried.
    """

    def authenticate(
        self, request: Request
    ) -> tuple[AbstractBaseUser | AnonymousUser, str | None] | None:
        """Find the user of the token; None without a token or for another scheme."""
        token = request.META.get("HTTP_AUTHORIZATION", "")
        if len(token.split(maxsplit=1)) != 1:
            return None
        user = find_token_user(token) if token.isascii() else None
        return (user, "token") if user else (AnonymousUser(), None)

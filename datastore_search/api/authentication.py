"""Who asks: the bare token of the ``Authorization`` header."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..tokens import find_token_user


class BareTokenAuthentication(BaseAuthentication):
    """
    Take the whole value of ``Authorization`` as an API token.

    A token that is not valid makes the request anonymous, as in CKAN, and no other class is
    asked.  A value that holds a blank is of another scheme, such as ``Bearer``: the next
    class is asked.
    """

    def authenticate(
        self, request: Request
    ) -> tuple[AbstractBaseUser | AnonymousUser, str | None] | None:
        """Find the user of the token; None without one, or where another scheme is used."""
        token = request.META.get("HTTP_AUTHORIZATION", "")
        if len(token.split(maxsplit=1)) != 1:
            return None
        user = find_token_user(token) if token.isascii() else None
        return (user, "token") if user else (AnonymousUser(), None)

"""Authentication of agents, whose clients send ``Authorization: Bearer <token>``."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..tokens import find_token_user


class BearerTokenAuthentication(BaseAuthentication):
    """
    Take the value after ``Bearer`` as an API token.

    A token that is unknown is left to the next class: portals have Bearer tokens of other kinds.
    """

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, str] | None:
        """Find the user of the token; None without one."""
        scheme, _blank, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
            return None
        user = find_token_user(token.strip())
        return (user, "token") if user else None

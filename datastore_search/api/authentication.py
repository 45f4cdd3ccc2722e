"""Who asks: the bare token of the ``Authorization`` header."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..tokens import user_of

#: ``request.auth`` of a request whose token is not valid.
REJECTED: Final = "rejected"


class BareTokenAuthentication(BaseAuthentication):
    """
    Take the whole value of ``Authorization`` as an API token.

    A token that is not valid makes the request anonymous, as in CKAN; ``request.auth`` is then
    ``REJECTED``, so that a refusal can say why.
    """

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser | AnonymousUser, str] | None:
        """Find the user of the token; None without one."""
        token = request.META.get("HTTP_AUTHORIZATION", "")
        if not token:
            return None
        user = user_of(token) if token.isascii() else None
        return (user, "token") if user else (AnonymousUser(), REJECTED)

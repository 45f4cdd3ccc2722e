"""Authentication by a bare token, which is the whole value of a header."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..web.tokens import find_token_user


class BareTokenAuthentication(BaseAuthentication):
    """
    Take the whole value of ``Authorization`` as an API token.

    A token that is not valid makes the request anonymous, as in CKAN; no other class is tried.  A
    value with a blank belongs to another scheme, such as ``Bearer``, so the next class is tried.
    """

    #: The name of the header in ``META``.
    header: ClassVar[str] = "HTTP_AUTHORIZATION"

    def authenticate(
        self, request: Request
    ) -> tuple[AbstractBaseUser | AnonymousUser, str | None] | None:
        """Find the user of the token; None without a token or for another scheme."""
        token = request.META.get(self.header, "")
        if len(token.split(maxsplit=1)) != 1:
            return None
        user = find_token_user(token) if token.isascii() else None
        return (user, "token") if user else (AnonymousUser(), None)


class CkanKeyAuthentication(BareTokenAuthentication):
    """
    Take the value of ``X-CKAN-API-Key`` as an API token, for clients that send nothing else.

    A portal chooses it, in ``DATASTORE_SEARCH_AUTHENTICATION_CLASSES``.

    Source: CKAN up to 2.9, and its setting ``apitoken_header_name`` since then.
    """

    header = "HTTP_X_CKAN_API_KEY"

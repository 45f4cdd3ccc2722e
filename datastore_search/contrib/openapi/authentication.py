"""The authentication classes of the document."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from .components import Schema


class BareToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The token of ``api.authentication``."""

    target_class = "datastore_search.api.authentication.BareTokenAuthentication"
    name = "datastoreToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        """Describe the header."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "The whole value is the token, without “Bearer”. Reading what is public"
            " needs none; a token that is not valid counts as none.",
        }


class CkanKey(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The token in the header of older clients of CKAN."""

    target_class = "datastore_search.api.authentication.CkanKeyAuthentication"
    name = "datastoreKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        """Describe the header."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "X-CKAN-API-Key",
            "description": "The same token, for clients that send no `Authorization`.",
        }


class Session(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The session, which the dump accepts too."""

    target_class = "datastore_search.downloads.views.SessionAuthentication"
    name = "datastoreSession"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        """Describe the cookie."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "The session of a user who is signed in to the portal.",
        }

"""The authentication classes of the document."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from ...api.parameters import Schema


class BareToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The token of ``api.authentication``."""

    target_class = "datastore_search.api.authentication.BareTokenAuthentication"
    name = "datastoreToken"

    #: Where it is sent: in a header or a cookie, and the name of that.
    place: ClassVar[tuple[str, str]] = "header", "Authorization"
    description: ClassVar[str] = (
        "The whole value is the token, without “Bearer”. Reading what is public needs none; a"
        " token that is not valid counts as none."
    )

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        kind, name = self.place
        return {"type": "apiKey", "in": kind, "name": name, "description": self.description}


class CkanKey(BareToken):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The token in the header of older clients of CKAN."""

    target_class = "datastore_search.api.authentication.CkanKeyAuthentication"
    name = "datastoreKey"
    place = "header", "X-CKAN-API-Key"
    description = "The same token, for clients that send no `Authorization`."


class Session(BareToken):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The session, which the dump accepts too."""

    target_class = "datastore_search.downloads.views.SessionAuthentication"
    name = "datastoreSession"
    place = "cookie", settings.SESSION_COOKIE_NAME
    description = "The session of a user who is signed in to the portal."

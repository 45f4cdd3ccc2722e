"""The view of the MCP server: ``datastore/mcp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from ...api.authentication import check_sizes, find_token_user
from ...api.envelope import report_failure
from ...api.parameters import parse_object
from ...api.views import EnvelopeView
from ...messages.requests import BadRequest

#: JSON-RPC's code of a request that the server does not take.
_INVALID_REQUEST = -32600


class NotAMessage(BadRequest):
    message = _("The request's body must be a request or notification of JSON-RPC 2.0.")


class BearerTokenAuthentication(BaseAuthentication):
    """
    Take the value after ``Bearer`` as an API token.

    A token that is unknown is left to the next class: portals have Bearer tokens of other kinds.
    """

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, str] | None:
        scheme, _blank, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
            return None
        user = find_token_user(token.strip())
        return (user, "token") if user else None


class AgentsView(EnvelopeView):
    """
    The messages of agents, each answered at once, as JSON, in the language of the path.

    Sessions and streams are not supported, so GET and DELETE are 405.

    Source: the streamable HTTP transport of the Model Context Protocol.
    """

    http_method_names: tuple[str, ...] = ("post", "options")
    report_name = "agents"
    schema = None  # JSON-RPC, which OpenAPI does not describe

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [BearerTokenAuthentication(), *super().get_authenticators()]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        """Answer a request that is not a message with an error of JSON-RPC."""

        def answer_failure(error: Exception, context: dict[str, Any]) -> Response:
            failure = report_failure(error)
            told = {"code": _INVALID_REQUEST, "message": failure.describe()}
            body = {"jsonrpc": "2.0", "id": None, "error": told}
            return Response(body, status=failure.status, headers=failure.headers)

        return answer_failure

    def post(self, request: Request) -> HttpResponseBase:
        from .transport import answer_message  # noqa: PLC0415 - the SDK takes seconds, and 50 MB

        max_values = check_sizes(request)  # before the body is read
        message = parse_object(request.body, max_values)
        if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
            raise NotAMessage  # answers are none either: the server asks nothing
        response = answer_message(request, message)
        add_never_cache_headers(response)
        return response

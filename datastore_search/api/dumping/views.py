"""The dump's address."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import connections, transaction
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from ...clients import Client
from ...conf import conf
from ...exceptions import UnknownResource
from ...field_types import is_storable
from ...http_caching import NotModified, Validators
from ...models import Resource
from ...search import ConsistentRead, Query, RecordCopy, Stream
from ..body import read_parameters
from ..envelope import exception_handler
from ..parameters import build_query, printable
from ..permissions import check_may_read
from ..streams import stream_response
from ..views import EnvelopeView
from .filename import content_disposition
from .formats import DEFAULT, formats
from .parameters import DumpParameters, of_all_fields, without_page

_PATH = "/datastore/dump/"

#: What a dump depends on, beside its address.
_VARY = ("Authorization", "Cookie")


class SessionAuthentication(BaseAuthentication):
    """
    Take the user who is signed in to the portal, as the pages do.

    Nothing is changed, so no other site gains by sending somebody here.
    """

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, str] | None:
        """Find the session's user; None without one."""
        user = getattr(request._request, "user", None)  # noqa: SLF001 - Django's, behind REST framework's
        return (user, "session") if user is not None and user.is_authenticated else None


def outside_transactions(view: Callable[..., Any]) -> Callable[..., Any]:
    """Keep Django's ``ATOMIC_REQUESTS`` away: the transaction outlives the view."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


@method_decorator(outside_transactions, name="dispatch")
class DumpView(EnvelopeView):
    """``datastore/dump/<id or alias>``: all records that a query finds, as a file."""

    http_method_names = ("get", "head", "options")

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Take a token, or else the session of whoever clicked on a link."""
        return [*super().get_authenticators(), SessionAuthentication()]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        """Let every failure leave in the envelope of ``datastore_search``."""
        return _failure

    def get(self, request: Request, name: str) -> HttpResponseBase:
        """
        Send the records; every failure that can be foreseen comes before the first of them.

        Raises: ``UnknownResource``, ``AccessDenied`` and what ``datastore_search`` raises.
        """
        given = DumpParameters.read(read_parameters(request, conf.SEARCH_BODY_MAX_BYTES))
        query = without_page(build_query(given), given)
        if not is_storable(name):
            raise UnknownResource(resource=printable(name))
        try:
            begin = partial(self._blocks, given, query, name)
            stream = Stream.open(name, begin, Client.from_request(request))
        except NotModified as not_modified:
            return not_modified.response
        if request.method == "HEAD":
            stream.close()
        return self._file(stream, given.get("format", DEFAULT))

    def _blocks(
        self, given: Mapping[str, Any], query: Query, name: str, read: ConsistentRead
    ) -> Generator[bytes]:
        resource = read.resource
        check_may_read(self.request, resource, name)
        self._validators(resource).raise_if_not_modified(self.request)
        copy = RecordCopy(read, of_all_fields(query, read.relation))
        if self.request.method == "HEAD":  # is told all that is wrong, and no record is read
            return _nothing()
        info = {field.name: field.info for field in resource.schema}
        form = formats[given.get("format", DEFAULT)]
        return form.blocks(copy, info, bom=given.get("bom", False))

    def _file(self, stream: Stream, kind: str) -> StreamingHttpResponse:
        form = formats[kind]
        response = stream_response(self.request, stream, form.content_type, broken=form.broken)
        response["Content-Disposition"] = content_disposition(stream.resource, kind)
        response["X-Content-Type-Options"] = "nosniff"
        self._validators(stream.resource).set_headers(response, self.request)
        return response

    def _validators(self, resource: Resource) -> Validators:
        return Validators.from_resource(resource, self.request, vary=_VARY)


def _nothing() -> Generator[bytes]:
    yield b""


def _failure(error: Exception, context: dict[str, Any]) -> Response:
    response = exception_handler(error, context)
    request = context["request"]
    locale = request.path.partition(_PATH)[0]
    response.data["help"] = request.build_absolute_uri(
        f"{locale}/api/3/action/help_show?name=datastore_search"
    )
    return response

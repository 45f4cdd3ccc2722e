"""Who asks, and what the user may do, which is checked before an answer reveals anything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import router
from django.http import HttpRequest
from django.utils import timezone
from knox.crypto import hash_token
from knox.models import get_token_model
from psycopg import sql
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ..conf import conf
from ..messages.access import (
    AccessDenied,
    AddDenied,
    AnonymousDenied,
    AnonymousWriteDenied,
    EveryWriteDenied,
    SchemeDenied,
    SchemeWriteDenied,
    TokenDenied,
    TokenWriteDenied,
    UnknownResource,
    WriteDenied,
)
from ..messages.requests import RequestTooLarge
from ..models import Reader, Resource
from ..models.object_permissions import find_permitted, has_permission
from ..web.caching import Validators
from ..web.views import check_query_string, measure_body, note_resource
from .parameters import MAX_JSON_VALUES, MAX_WRITTEN_VALUES, make_printable

#: The header that answers depend on, beside address and body.
VARY = ("Authorization",)

#: By backends that cannot find the resources that a user may write; with more of them, a large body
#: is read before the permission for its resource is checked.
_MAX_CHECKED_RESOURCES = 20

#: The size of the body of a request that only reads, with a valid token.
MAX_SEARCH_BODY_BYTES = 1 * 2**20


# Who asks -----------------------------------------------------------------------------------------


def find_token_user(token: str) -> AbstractBaseUser | None:
    """
    Find the user of a token; None if it is unknown or expired, or its user inactive.

    The hash is the primary key of the table, so this is one look-up however many tokens a user has.
    Many requests make it, so its SQL is built once: a QuerySet would take longer to build it than
    PostgreSQL takes to run it.
    """
    users = get_user_model()._default_manager
    # The database that issues and revokes tokens, unless a read request is answered by a replica.
    alias = router.db_for_write(get_token_model(), is_reading=True)
    rows = users.raw(_build_token_query(), [hash_token(token), timezone.now()], using=alias)
    user: AbstractBaseUser | None = next(iter(rows), None)
    return user if user is not None and user.is_active else None


@cache
def _build_token_query() -> str:
    tokens = get_token_model()._meta
    users = get_user_model()._meta
    columns = {name: tokens.get_field(name).column for name in ("user", "digest", "expiry")}
    text = sql.SQL(
        "SELECT users.* FROM {users} AS users JOIN {tokens} AS tokens"
        " ON tokens.{user} = users.{id}"
        " WHERE tokens.{digest} = %s AND (tokens.{expiry} IS NULL OR tokens.{expiry} > %s)"
    ).format(
        users=sql.Identifier(users.db_table),
        tokens=sql.Identifier(tokens.db_table),
        id=sql.Identifier(str(users.pk.column)),
        **{name: sql.Identifier(column) for name, column in columns.items()},
    )
    return text.as_string()


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
        token = request.META.get(self.header, "")
        if len(token.split(maxsplit=1)) != 1:
            return None
        user = find_token_user(token) if token.isascii() else None
        return (user, token) if user else (AnonymousUser(), None)


class CkanKeyAuthentication(BareTokenAuthentication):
    """
    Take the value of ``X-CKAN-API-Key`` as an API token, for clients that send nothing else.

    A portal chooses it, in ``DATASTORE_SEARCH_AUTHENTICATION_CLASSES``.

    Source: CKAN up to 2.9, and its setting ``apitoken_header_name`` since then.
    """

    header = "HTTP_X_CKAN_API_KEY"


# What the user may do -----------------------------------------------------------------------------


def get_reader(request: Request | HttpRequest) -> Reader:
    return request.user or AnonymousUser()  # `UNAUTHENTICATED_USER` may be None


def check_may_read(request: Request, resource: Resource, name: str) -> None:
    """
    Refuse a user who may not read the records of a resource.

    ``name`` is the identifier that was sent; the message never has the id behind another one.

    Raises: ``AccessDenied``.
    """
    note_resource(request, resource)
    if not resource.private or resource.is_readable_by(get_reader(request)):
        return  # a public resource is read without looking up the token
    shown_name = make_printable(name)
    if isinstance(request.user, AbstractBaseUser):
        raise AccessDenied(user=request.user.get_username(), resource=shown_name)
    errors = SchemeDenied, TokenDenied, AnonymousDenied
    raise _build_anonymous_error(request, errors, resource=shown_name)


def authorize_read(request: Request, resource: Resource, name: str, *parts: object) -> Validators:
    """
    Let the user read a resource, by the ``name`` that was sent, and build the answer's validators.

    ``parts`` are what the answer depends on beside the address.

    Raises: ``AccessDenied``; ``NotModified`` when the client has the answer already.
    """
    check_may_read(request, resource, name)
    return Validators.from_resource(resource, request, *parts, vary=VARY)


def check_sizes(request: Request, max_file_bytes: int = 0, *, is_writing: bool = False) -> int:
    """
    Refuse a request that is too large, before its body is read; return how many values it may have.

    A body that an anonymous client may not send needs a valid token, and one that is written a user
    who may write something: only for such a body the token is looked up.  No body may be larger
    than ``DATA_UPLOAD_MAX_MEMORY_SIZE``, except a form by a file, which some clients send twice.

    Raises: ``AccessDenied``; ``RequestTooLarge``; ``BadRequest``.
    """
    sent = request._request  # noqa: SLF001 - REST framework has its own stream
    size, max_bytes = measure_body(sent), conf.MAX_ANONYMOUS_BODY_BYTES
    if size > max_bytes:
        if is_writing:
            user: Any = get_reader(request)
            if not user.is_authenticated:
                raise _build_anonymous_error(request, _ANONYMOUS_WRITE_ERRORS)
            verbs, resources = ("add", "change", "delete"), Resource.objects.all()
            permissions = [f"datastore_search.{verb}_resource" for verb in verbs]
            found = find_permitted(user, permissions, resources, max_checked=_MAX_CHECKED_RESOURCES)
            may_add = has_permission(user, "datastore_search.add_resource", Resource(pk=None))
            may_write = may_add or found.is_everything or not found.is_complete
            if not may_write and not resources.filter(found.condition).exists():
                raise EveryWriteDenied(user=user.get_username())
            max_bytes = conf.MAX_WRITE_BODY_BYTES
        elif get_reader(request).is_authenticated:
            max_bytes = max(max_bytes, MAX_SEARCH_BODY_BYTES)
    check_query_string(sent)
    if settings.DATA_UPLOAD_MAX_MEMORY_SIZE is not None:
        max_bytes = min(max_bytes, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if is_writing and (sent.content_type or "").lower() == "multipart/form-data":
        max_bytes += 2 * max_file_bytes
    if size > max_bytes:
        raise RequestTooLarge(most=max_bytes)
    return MAX_WRITTEN_VALUES if is_writing else MAX_JSON_VALUES


def check_may_write(
    request: Request, found: Resource | None, name: str, verb: str = "change"
) -> Resource:
    """
    Return the resource that a user may add, change or delete, as ``check_may_read`` does.

    Who may write but not read it is told that it does not exist.  One that does not is checked like
    a private one, so that both answers take the same time.

    Raises: ``AccessDenied``; ``UnknownResource``.
    """
    resource, user = found or Resource(private=True), get_reader(request)
    may_write, may_read = resource.permits(user, verb), resource.is_readable_by(user)
    if found is None or (may_write and not may_read):
        raise UnknownResource(resource=make_printable(name))
    note_resource(request, resource)
    if may_write:
        return resource
    if verb == "add":
        raise build_write_refusal(request, AddDenied)
    raise build_write_refusal(request, WriteDenied, resource=make_printable(name))


def build_write_refusal(request: Request, error: type[AccessDenied], **values: str) -> AccessDenied:
    """Build the ``error`` of a user who may not write, or that of a client without a user."""
    if not isinstance(request.user, AbstractBaseUser):
        return _build_anonymous_error(request, _ANONYMOUS_WRITE_ERRORS)
    return error(user=request.user.get_username(), **values)


_ANONYMOUS_WRITE_ERRORS = SchemeWriteDenied, TokenWriteDenied, AnonymousWriteDenied


def _build_anonymous_error(
    request: Request, errors: Sequence[type[AccessDenied]], **values: str
) -> AccessDenied:
    """Build the error of a client that sent an unknown scheme, a token in vain, or nothing."""
    scheme_error, token_error, error = errors
    authenticators = request.authenticators or ()
    if all(isinstance(each, BareTokenAuthentication) for each in authenticators):
        # No class knows schemes, such as ``Bearer`` before the token.
        scheme, *tokens = request.META.get("HTTP_AUTHORIZATION", "").split(maxsplit=1) or [""]
        if tokens:
            return scheme_error(scheme=make_printable(scheme[:20]), **values)
    headers = ("HTTP_AUTHORIZATION", *(getattr(each, "header", "") for each in authenticators))
    has_token = any(request.META.get(header) for header in headers)
    return (token_error if has_token else error)(**values)

"""Permissions, which are checked before an answer reveals anything of a resource."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
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
from ..models.object_permissions import find_permitted
from ..web.caching import Validators
from ..web.views import check_query_string, measure_body, note_resource
from .authentication import BareTokenAuthentication
from .body import MAX_JSON_VALUES, MAX_WRITTEN_VALUES
from .parameters import make_printable

#: The header that answers depend on, beside address and body.
VARY = ("Authorization",)

#: By backends that cannot find the resources that a user may write; with more of them, a large body
#: is read before the permission for its resource is checked.
_MAX_CHECKED_RESOURCES = 20

#: The size of the body of a request that only reads, with a valid token.
MAX_SEARCH_BODY_BYTES = 1 * 2**20


def get_reader(request: Request) -> Reader:
    """Get the user of a request; a portal may have set ``UNAUTHENTICATED_USER`` to None."""
    return request.user or AnonymousUser()


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
    raise _build_anonymous_error(request, *errors, resource=shown_name)


def authorize_read(request: Request, resource: Resource, name: str, *parts: object) -> Validators:
    """
    Let the user read a resource, by the ``name`` that was sent, and build the answer's validators.

    ``parts`` are what the answer depends on beside the address.

    Raises: ``AccessDenied``; ``NotModified`` when the client has the answer already.
    """
    check_may_read(request, resource, name)
    return Validators.from_resource(resource, request, *parts, vary=VARY)


def check_sizes(request: Request, *, is_writing: bool = False) -> int:
    """
    Refuse a request that is too large, before its body is read; return how many values it may have.

    A body that an anonymous client may not send needs a valid token, and one that is written a user
    who may write something: only for such a body the token is looked up.  No body may be larger
    than ``DATA_UPLOAD_MAX_MEMORY_SIZE``.

    Raises: ``AccessDenied``; ``RequestTooLarge``; ``BadRequest``.
    """
    sent = request._request  # noqa: SLF001 - REST framework has its own stream
    size, max_bytes = measure_body(sent), conf.MAX_ANONYMOUS_BODY_BYTES
    if size > max_bytes:
        if is_writing:
            _check_may_write_something(request)
            max_bytes = conf.MAX_WRITE_BODY_BYTES
        elif get_reader(request).is_authenticated:
            max_bytes = max(max_bytes, MAX_SEARCH_BODY_BYTES)
    check_query_string(sent)
    if settings.DATA_UPLOAD_MAX_MEMORY_SIZE is not None:
        max_bytes = min(max_bytes, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if size > max_bytes:
        raise RequestTooLarge(most=max_bytes)
    return MAX_WRITTEN_VALUES if is_writing else MAX_JSON_VALUES


def _check_may_write_something(request: Request) -> None:
    user: Any = get_reader(request)
    if not user.is_authenticated:
        raise _build_anonymous_error(request, *_ANONYMOUS_WRITE_ERRORS)
    permissions = [f"datastore_search.{verb}_resource" for verb in ("add", "change", "delete")]
    resources = Resource.objects.all()
    found = find_permitted(user, permissions, resources, max_checked=_MAX_CHECKED_RESOURCES)
    if found.is_everything or not found.is_complete:
        return
    if not resources.filter(found.condition).exists():
        raise EveryWriteDenied(user=user.get_username())


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
    if not isinstance(request.user, AbstractBaseUser):
        raise _build_anonymous_error(request, *_ANONYMOUS_WRITE_ERRORS)
    if verb == "add":
        raise AddDenied(user=request.user.get_username())
    raise WriteDenied(user=request.user.get_username(), resource=make_printable(name))


_ANONYMOUS_WRITE_ERRORS = SchemeWriteDenied, TokenWriteDenied, AnonymousWriteDenied


def _build_anonymous_error(
    request: Request,
    scheme_error: type[AccessDenied],
    token_error: type[AccessDenied],
    error: type[AccessDenied],
    **values: str,
) -> AccessDenied:
    """Build the error of a client without a user: it sent a token in vain, or none."""
    authenticators = request.authenticators or ()
    if all(isinstance(each, BareTokenAuthentication) for each in authenticators):
        # No class knows schemes, such as ``Bearer`` before the token.
        scheme, *tokens = request.META.get("HTTP_AUTHORIZATION", "").split(maxsplit=1) or [""]
        if tokens:
            return scheme_error(scheme=make_printable(scheme[:20]), **values)
    headers = ("HTTP_AUTHORIZATION", *(getattr(each, "header", "") for each in authenticators))
    has_token = any(request.META.get(header) for header in headers)
    return (token_error if has_token else error)(**values)

"""Permissions, which are checked before an answer reveals anything of a resource."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.request import Request

from ..exceptions.access import (
    AccessDenied,
    AnonymousDenied,
    AnonymousWriteDenied,
    SchemeDenied,
    SchemeWriteDenied,
    TokenDenied,
    TokenWriteDenied,
    WriteDenied,
)
from ..models import Reader, Resource
from ..request_reports import note_resource
from .authentication import BareTokenAuthentication
from .parameters import make_printable


def get_reader(request: Request) -> Reader:
    """Get the user of a request; a portal may have set ``UNAUTHENTICATED_USER`` to None."""
    return request.user or AnonymousUser()


def check_may_read(request: Request, resource: Resource, name: str) -> None:
    """
    Refuse a user who may not read the records of a resource.

    ``name`` is the id or alias that was sent.  The message repeats it, and never the id behind an
    alias.

    Raises: ``AccessDenied``.
    """
    note_resource(request, resource)
    if not resource.private or resource.is_readable_by(get_reader(request)):
        return  # a public resource is read without looking up the token
    shown_name = make_printable(name)
    if isinstance(request.user, AbstractBaseUser):
        raise AccessDenied(user=request.user.get_username(), resource=shown_name)
    scheme = _find_scheme(request)
    if scheme:
        raise SchemeDenied(resource=shown_name, scheme=scheme)
    if _has_sent_token(request):
        raise TokenDenied(resource=shown_name)
    raise AnonymousDenied(resource=shown_name)


def check_may_send_records(request: Request) -> None:
    """
    Refuse an anonymous user before a large body is read.

    Raises: ``AccessDenied``.
    """
    if not get_reader(request).is_authenticated:
        raise _build_anonymous_write_error(request)


def check_may_write(request: Request, resource: Resource, name: str, verb: str = "change") -> None:
    """
    Refuse a user who may not add, change or delete a resource, as ``check_may_read`` does.

    Raises: ``AccessDenied``.
    """
    note_resource(request, resource)
    if resource.permits(get_reader(request), verb):
        return
    if isinstance(request.user, AbstractBaseUser):
        raise WriteDenied(user=request.user.get_username(), resource=make_printable(name))
    raise _build_anonymous_write_error(request)


def _build_anonymous_write_error(request: Request) -> AccessDenied:
    scheme = _find_scheme(request)
    if scheme:
        return SchemeWriteDenied(scheme=scheme)
    return TokenWriteDenied() if _has_sent_token(request) else AnonymousWriteDenied()


def _find_scheme(request: Request) -> str:
    """Find the word before the token, such as ``Bearer``, where no class knows schemes."""
    if not all(isinstance(each, BareTokenAuthentication) for each in request.authenticators or ()):
        return ""
    scheme, *tokens = request.META.get("HTTP_AUTHORIZATION", "").split(maxsplit=1) or [""]
    return make_printable(scheme[:20]) if tokens else ""


def _has_sent_token(request: Request) -> bool:
    """Return whether an anonymous client sent a token that no authentication class accepts."""
    own = (getattr(each, "header", "") for each in request.authenticators or ())
    return any(request.META.get(header) for header in ("HTTP_AUTHORIZATION", *own))

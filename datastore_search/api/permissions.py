"""What a user may do, asked before anything about the fields is revealed."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.request import Request

from ..exceptions import (
    AccessDenied,
    AnonymousDenied,
    AnonymousWriteDenied,
    TokenDenied,
    TokenWriteDenied,
    WriteDenied,
)
from ..models import Resource
from .authentication import REJECTED


def check_may_read(request: Request, resource: Resource) -> None:
    """
    Refuse a reader who may not see the records of a resource.

    Raises: ``AccessDenied``.
    """
    if not resource.private or resource.readable_by(request.user):
        return  # of a public one, nobody asks whose the token is
    if request.auth == REJECTED:
        raise TokenDenied(resource=resource.pk)
    if isinstance(request.user, AbstractBaseUser):
        raise AccessDenied(user=request.user.get_username(), resource=resource.pk)
    raise AnonymousDenied(resource=resource.pk)


def check_may_send_records(request: Request) -> None:
    """
    Refuse who is not known, whatever they may do: nothing of a large body is read before.

    Raises: ``AccessDenied``.
    """
    if not request.user.is_authenticated:
        raise TokenWriteDenied if request.auth == REJECTED else AnonymousWriteDenied


def check_may_write(request: Request, resource: Resource, verb: str = "change") -> None:
    """
    Refuse a user who may not add, change or delete a resource.

    Raises: ``AccessDenied``.
    """
    if resource.permits(request.user, verb):
        return
    if request.auth == REJECTED:
        raise TokenWriteDenied
    if isinstance(request.user, AbstractBaseUser):
        raise WriteDenied(user=request.user.get_username(), resource=resource.pk)
    raise AnonymousWriteDenied

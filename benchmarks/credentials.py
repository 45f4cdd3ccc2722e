"""The user of the requests, and the privacy of the resource."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from knox.models import get_token_model

from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

_USER = "benchmark"


@contextmanager
def issue_reading_token() -> Iterator[str]:
    """Issue a token of a user who may read every resource, and delete it at the end."""
    user, _ = get_user_model().objects.get_or_create(username=_USER)
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search", codename="view_resource"
        )
    )
    tokens = get_token_model().objects.filter(user=user)
    tokens.delete()  # tokens of interrupted runs
    try:
        yield issue_token(user)
    finally:
        tokens.delete()


@contextmanager
def set_visibility(resource: Resource, *, private: bool) -> Iterator[None]:
    """Make a resource private or public; it is public at the end."""
    set_private(resource, private)
    try:
        yield
    finally:
        set_private(resource, False)


def set_private(resource: Resource, private: bool) -> None:
    """Set the privacy of a resource, unless it is set already."""
    if resource.private != private:
        resource.private = private
        resource.save(update_fields=["private", "modified_at"])

"""Who may do what: loads, fields and aliases are as their resource is."""

from __future__ import annotations

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from ..models import MAX_ALIAS_LENGTH, Resource


def may(request: HttpRequest, verb: str, resource: Resource | None) -> bool:
    """Ask for a permission (view, change) in general, or for this resource; changing is seeing."""
    user = request.user
    verbs = (verb, "change") if verb == "view" else (verb,)
    if resource is None:
        return any(user.has_perm(f"datastore_search.{each}_resource") for each in verbs)
    return any(resource.permits(user, each) for each in verbs)


def require(request: HttpRequest, verb: str, resource: Resource) -> None:
    """
    Ask for a permission.

    Raises: ``PermissionDenied``.
    """
    if not may(request, verb, resource):
        raise PermissionDenied


def refuse_long_id(object_id: str) -> None:
    """
    Refuse a part of an address that is too long to name anything.

    Raises: ``Http404``.
    """
    if len(object_id) > MAX_ALIAS_LENGTH:
        raise Http404


class OfResource(admin.TabularInline):
    """What belongs to a resource, and is seen and changed by whoever sees and changes that."""

    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask for the resource."""
        return may(request, "view", obj)

    def has_change_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask for the resource."""
        return may(request, "change", obj)

"""Who may do what: loads, fields and aliases are as their resource is."""

from __future__ import annotations

from typing import cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from ..models import MAX_ALIAS_LENGTH, Resource
from ..object_permissions import Permitted

#: Changing is seeing.
_SEEING = ("view", "change")

_KEPT = "_datastore_viewable"


def may(request: HttpRequest, verb: str, resource: Resource | None) -> bool:
    """
    Ask for a permission (view, change) for this resource, or in general; changing is seeing.

    Whoever may view any resource may look at the lists, which ``viewable`` keeps to those.
    """
    user = request.user
    verbs = _SEEING if verb == "view" else (verb,)
    if resource is not None:
        return any(resource.permits(user, each) for each in verbs)
    if any(user.has_perm(f"datastore_search.{each}_resource") for each in verbs):
        return True
    return verb == "view" and Resource.objects.filter(viewable(request).condition).exists()


def viewable(request: HttpRequest) -> Permitted:
    """Find the resources that the user may view, once for each request."""
    kept = vars(request)
    if _KEPT not in kept:
        kept[_KEPT] = Resource.objects.permitted_to(request.user, *_SEEING)
    return cast("Permitted", kept[_KEPT])


def has_any_at_once(request: HttpRequest) -> bool:
    """
    Tell whether the user may view any resource, as far as a query can say.

    Every page of the admin asks this for its menu, so backends are not asked about one resource
    after the other.
    """
    found = Resource.objects.permitted_to(request.user, *_SEEING, max_asked=0)
    return Resource.objects.filter(found.condition).exists()


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

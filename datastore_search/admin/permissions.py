"""Permissions: loads, fields and aliases have the permissions of their resource."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms import ModelForm
from django.http import Http404, HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext

from ..models import MAX_ALIAS_LENGTH, Resource
from ..models.object_permissions import Permitted
from .forms import VersionedFormSet

#: A user who may change a resource may view it.
_VIEW_VERBS = ("view", "change")

_CACHE_ATTRIBUTE = "_datastore_permitted_resources"


def has_permission(request: HttpRequest, verb: str, resource: Resource | None) -> bool:
    """
    Return whether the user may view, change or delete this resource, or without one any resource.

    A user who may view some resources may open the lists, which show only those
    (``get_viewable_resources``).
    """
    user = request.user
    verbs = _VIEW_VERBS if verb == "view" else (verb,)
    if resource is not None:
        return any(resource.permits(user, each) for each in verbs)
    if any(user.has_perm(f"datastore_search.{each}_resource") for each in verbs):
        return True
    return (
        verb == "view"
        and Resource.objects.filter(get_viewable_resources(request).condition).exists()
    )


def get_viewable_resources(request: HttpRequest) -> Permitted:
    return get_permitted_resources(request, *_VIEW_VERBS)


def get_permitted_resources(request: HttpRequest, *verbs: str) -> Permitted:
    found = vars(request).setdefault(_CACHE_ATTRIBUTE, {})
    if verbs not in found:
        found[verbs] = Resource.objects.permitted_to(request.user, *verbs)
    return cast("Permitted", found[verbs])


def warn_of_unchecked(request: HttpRequest, permitted: Permitted) -> None:
    """Say that a list lacks resources, of which some may be permitted."""
    if not permitted.is_complete:
        text = gettext(
            "There are too many resources to check your permissions for all: some that you"
            " may view are not listed."
        )
        messages.warning(request, text)


def check_permission(request: HttpRequest, verb: str, resource: Resource) -> None:
    if not has_permission(request, verb, resource):
        raise PermissionDenied


def check_id_length(object_id: str) -> None:
    if len(object_id) > MAX_ALIAS_LENGTH:
        raise Http404


class ViewableAdmin(admin.ModelAdmin):
    class Media:
        css = {"all": ("datastore_search/admin.css",)}

    def has_module_permission(self, request: HttpRequest) -> bool:
        if super().has_module_permission(request):
            return True
        # Every page needs this for its menu, so no backend is asked about single resources.
        viewable = Resource.objects.permitted_to(request.user, *_VIEW_VERBS, max_checked=0)
        return Resource.objects.filter(viewable.condition).exists()

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """
        Find an object, listed or not: the view of its page checks the permission.

        Raises: ``Http404`` for an id that is too long, so that no message repeats it.
        """
        check_id_length(object_id)
        try:
            return self.model.objects.filter(pk=object_id).first()
        except (ValidationError, ValueError):  # not an id
            return None


class LabelledFormSet(VersionedFormSet):
    """Forms in the rows of a table: each input names its column and its row."""

    def add_fields(self, form: ModelForm, index: int | None) -> None:
        super().add_fields(form, index)
        row = str(form.instance) if form.instance.pk else ""
        for field in form.fields.values():
            label = capfirst(str(field.label or ""))
            field.widget.attrs["aria-label"] = ": ".join(filter(None, [label, row]))


class ResourcePermissions:
    """The permissions in general or for a resource, for its page and the inlines in it."""

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Use the permission of the resource; a user who adds one may add what is in it, too."""
        return has_permission(request, "change" if obj else "add", obj)

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return has_permission(request, "view", obj)

    def has_change_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return has_permission(request, "change", obj)


class ResourceInline(ResourcePermissions, admin.TabularInline):
    extra = 0
    formset = LabelledFormSet

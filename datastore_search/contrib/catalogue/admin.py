"""The metadata of a resource on its page in the admin; organizations and groups with members."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from ...admin.forms import VersionedFormSet
from ...admin.parts import ResourcePart
from ...admin.permissions import ResourcePermissions
from ...messages.availability import WriteBlocked
from ...models import Resource, object_permissions
from .descriptions import METADATA
from .groups import permits, store_group
from .models import Dataset, MemberGroup, Membership
from .permissions import find_memberships
from .resources import is_published

#: On one line.
_PERIOD = ("temporal_start", "temporal_end")


class MetadataInline(ResourcePermissions, admin.StackedInline):
    model = Dataset
    formset = VersionedFormSet
    verbose_name = verbose_name_plural = _("About the data")
    classes = ("collapse",)
    can_delete = False
    fields = [
        "owner_org",
        *(_PERIOD if name == _PERIOD[0] else name for name in METADATA if name != _PERIOD[1]),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Resource | None = None) -> list[str]:
        """Let members of an organization change its resources, and not whose these are."""
        permission = "datastore_search.change_resource"
        is_general = object_permissions.has_permission(request.user, permission)
        return [] if is_general else ["owner_org", "publisher"]


class MetadataOfResource(ResourcePart):
    inlines = (MetadataInline,)

    def list_readonly(self, resource: Resource | None) -> list[str]:
        """Whether a resource of a published dataset is private follows from the dataset."""
        return ["private"] if resource and is_published(resource) else []


metadata_of_resource = MetadataOfResource()


class GroupPermissions:
    """The permissions in general or for an organization or group, also for its members."""

    def has_change_permission(self, request: HttpRequest, obj: MemberGroup | None = None) -> bool:
        """Check a permission; a user who manages some may open the list, which shows those."""
        managed = find_memberships(request.user, "change_membergroup")
        return permits(request, "change", obj) or (obj is None and managed.exists())

    has_view_permission = has_change_permission


class MembershipInline(GroupPermissions, admin.TabularInline):
    model = Membership
    extra = 0
    raw_id_fields = ("user",)
    has_add_permission = GroupPermissions.has_change_permission
    has_delete_permission = GroupPermissions.has_change_permission


@admin.register(MemberGroup)
class MemberGroupAdmin(GroupPermissions, admin.ModelAdmin):
    inlines = (MembershipInline,)
    list_display = ("name", "title", "is_organization", "is_deleted")
    list_filter = ("is_organization", "is_deleted")
    search_fields = ("name", "title")
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}  # as from Django 6.0 on

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["is_organization"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: a deleted one keeps its name; the API purges."""
        return False

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Change nothing, and say why, if another request has changed the same just now."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except WriteBlocked as blocked:
            messages.error(request, str(blocked))
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        except IntegrityError:  # Django's inlines do not check constraints with the parent
            text = Membership().unique_error_message(Membership, ("group", "user"))
            messages.error(request, " ".join(text.messages))
        return redirect(request.get_full_path())

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemberGroup]:
        """Keep the organizations and groups that the user manages."""
        rows = super().get_queryset(request)
        if permits(request, "change"):
            return rows
        managed = find_memberships(request.user, "change_membergroup")
        return rows.filter(pk__in=managed.values("group"))

    def save_model(self, request: HttpRequest, obj: MemberGroup, form: Any, change: bool) -> None:
        obj.pk = obj.pk or str(uuid.uuid4())
        store_group(obj)

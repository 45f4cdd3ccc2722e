"""Resources in the admin."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import connections, models, router
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import storage
from ..loading.jobs import mark_interrupted_loads
from ..models import Alias, Field, Load, Resource
from .database_errors import RefusalAwareAdmin
from .display import UNSHOWN, address_of, bad_rows_of, grouped, live, records_of, took
from .drafts import upload_page
from .forms import FieldForm, ResourceForm
from .lock_timeout import LimitedWaits
from .permissions import OfResource, has_any_at_once, may, refuse_long_id, require, viewable
from .uploads import receives_files

#: Loads that the page of a resource lists; the list of loads has all.
_LOADS_SHOWN = 20

_NEWEST = Load.objects.defer(*UNSHOWN).order_by("resource_id", "-created_at", "-pk")


class FieldInline(OfResource):
    """The data dictionary: what each field is called and means, and its type for the next load."""

    model = Field
    form = FieldForm
    fields = ("name", "type", "chosen_type", "label", "notes")
    readonly_fields = ("name", "type")
    can_delete = False
    formfield_overrides = {models.TextField: {"widget": forms.Textarea(attrs={"rows": 2})}}

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Let only a load make fields."""
        return False


class AliasInline(OfResource):
    """Other names of the resource."""

    model = Alias
    fields = ("name",)

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask for the resource; whoever makes one may name it."""
        return may(request, "change" if obj else "add", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask for the resource."""
        return may(request, "change", obj)


@admin.register(Resource)
class ResourceAdmin(LimitedWaits, RefusalAwareAdmin):
    """Resources."""

    form = ResourceForm
    list_display = (
        "shown_title",
        "name",
        "private",
        "records",
        "size",
        "shown_state",
        "last_load",
    )
    list_filter = ("private", "language", "current_load__state")
    list_select_related = ("current_load",)
    search_fields = ("name", "title", "description", "id", "fields__name", "fields__label")
    prepopulated_fields = {"name": ("title",)}
    readonly_fields = ("id", "api_address", "shown_key", "created_at", "modified_at")
    save_on_top = True

    class Media:
        css = {"all": ("datastore_search/admin.css",)}
        js = ("datastore_search/load_progress.js",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show the app to whoever may view any resource."""
        return super().has_module_permission(request) or has_any_at_once(request)

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask in general, then for this resource."""
        return may(request, "view", obj)

    def has_change_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask in general, then for this resource."""
        return may(request, "change", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Ask in general, then for this resource."""
        return may(request, "delete", obj)

    def get_urls(self) -> list[URLPattern]:
        """Add the page on which a file is given."""
        view = receives_files(self, self.load_view, self._changeable)
        added = path("<uuid:resource_id>/load/", view, name="datastore_search_resource_load")
        return [added, *super().get_urls()]

    def load_view(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """Take a file to load."""
        return upload_page(request, self, self._changeable(request, resource_id))

    def _changeable(self, request: HttpRequest, resource_id: uuid.UUID) -> Resource:
        """
        Find a resource that the user may change.

        Raises: ``Http404``, ``PermissionDenied``.
        """
        resource = get_object_or_404(Resource, pk=resource_id)
        require(request, "change", resource)
        return resource

    def get_fieldsets(self, request: HttpRequest, obj: Resource | None = None) -> Any:
        """Show what a resource has only once it exists."""
        about = (None, {"fields": ["title", "name", "description", "private", "language"]})
        indexes = (_("Indexes"), {"fields": ["indexes"], "classes": ["collapse"]})
        known = (
            _("Address"),
            {"fields": ["id", "api_address", "shown_key", "created_at", "modified_at"]},
        )
        return [about, indexes, known] if obj else [about, indexes]

    def get_inlines(
        self, request: HttpRequest, obj: Resource | None
    ) -> list[type[admin.options.InlineModelAdmin]]:
        """Show fields only once there can be some."""
        return [AliasInline, FieldInline] if obj else [AliasInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Resource]:
        """List what the user may view, with the newest loads of all shown resources at once."""
        newest = Prefetch("loads", _NEWEST.distinct("resource_id"), to_attr="newest")
        resources = super().get_queryset(request).filter(viewable(request).condition)
        return resources.prefetch_related(newest)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Resource | None:
        """
        Find a resource, listed or not: its page asks for the permission that it takes.

        Raises: ``Http404`` for a part of the address that is too long: no message repeats it.
        """
        refuse_long_id(object_id)
        try:
            return Resource.objects.filter(pk=object_id).first()
        except ValidationError:  # no id
            return None

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Measure the tables of all shown resources in one query; find interrupted loads first."""
        mark_interrupted_loads(Load.objects.all())
        if not viewable(request).is_complete:
            messages.warning(
                request,
                gettext(
                    "There are more resources than can be asked about: some that you may view are"
                    " not listed."
                ),
            )
        changelist = super().get_changelist_instance(request)
        resources = cast("Iterable[Resource]", changelist.result_list)
        loads = [r.current_load_id for r in resources if r.current_load_id]
        sizes = storage.record_bytes(connections[router.db_for_write(Load)], loads)
        for resource in resources:
            resource.table_bytes = sizes.get(resource.current_load_id or 0)  # type: ignore[attr-defined] # only here
        return changelist

    @admin.display(description=_("title"), ordering="title")
    def shown_title(self, resource: Resource) -> str:
        """Show the title, or the name."""
        return str(resource)

    @admin.display(description=_("records"), ordering="current_load__rows")
    def records(self, resource: Resource) -> str:
        """Show how many records are served."""
        load = resource.current_load
        return grouped(load.rows) if load else "–"

    @admin.display(description=_("size"))
    def size(self, resource: Resource) -> str:
        """Show the size of the table with its indexes."""
        table_bytes = getattr(resource, "table_bytes", None)
        return filesizeformat(table_bytes) if table_bytes else "–"

    @admin.display(description=_("state"))
    def shown_state(self, resource: Resource) -> str:
        """Show the state of the last load, and how far it is."""
        newest = _newest(resource)
        return live(newest) if newest else gettext("not loaded yet")

    @admin.display(description=_("last load"))
    def last_load(self, resource: Resource) -> Any:
        """Show when the last load began."""
        newest = _newest(resource)
        return newest.created_at if newest else None

    @admin.display(description=_("API"))
    def api_address(self, resource: Resource) -> str:
        """Show the address to ask, ready to be followed."""
        try:
            path = reverse("datastore_search:action", args=["datastore_search"])
        except NoReverseMatch:
            return "–"
        address = f"{path}?resource_id={resource.pk}&limit=5"
        return format_html('<a href="{0}" dir="ltr">{0}</a>', address)

    @admin.display(description=_("primary key"))
    def shown_key(self, resource: Resource) -> str:
        """Show the fields that tell the records apart, if there are any."""
        return ", ".join(resource.primary_key) or "–"

    def view_on_site(self, resource: Resource) -> str | None:
        """Lead to the data page, once there is something on it and if the portal has the pages."""
        return address_of(resource)

    def response_add(
        self, request: HttpRequest, obj: Resource, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go on to loading, if that was asked for."""
        if "_load" in request.POST:
            return redirect("admin:datastore_search_resource_load", obj.pk)
        return super().response_add(request, obj, post_url_continue)

    def get_deleted_objects(
        self, objs: Iterable[Resource], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Name the resources alone: fields, loads and bad rows may be a hundred thousand."""
        named = [str(resource) for resource in objs]
        return named, {str(self.opts.verbose_name_plural): len(named)}, set(), []

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the last loads, too."""
        resource = self.get_object(request, object_id)
        loads = Load.objects.defer(*UNSHOWN).filter(resource=resource)
        mark_interrupted_loads(loads)
        return super().change_view(
            request,
            object_id,
            form_url,
            {
                **(extra_context or {}),
                "loads": [_in_list(load) for load in loads[:_LOADS_SHOWN]],
                "more_loads": loads.count() > _LOADS_SHOWN,
            },
        )


def _newest(resource: Resource) -> Load | None:
    found: list[Load] = getattr(resource, "newest", [])
    return found[0] if found else None


def _in_list(load: Load) -> dict[str, Any]:
    """Say what the list of loads shows of one."""
    return {
        "pk": load.pk,
        "started": load.created_at,
        "source": load.url or load.source,
        "mode": load.get_mode_display(),
        "state": live(load),
        "records": records_of(load),
        "bad": bad_rows_of(load),
        "took": took(load),
        "error": load.error,
    }

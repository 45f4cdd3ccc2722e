"""Resources in the admin."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Page
from django.db import connections, models, router
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy as _

from ..database.statements import begin_write_transaction
from ..database.tables import measure_record_tables
from ..messages.availability import WriteBlocked
from ..messages.texts import format_count, show_bidi_controls
from ..models import Alias, Field, Resource
from .forms import ABOUT, OPENED, FieldForm, ResourceForm, get_shown_rows, split_fields
from .parts import get_page_address, parts
from .permissions import (
    LabelledFormSet,
    ResourceInline,
    ResourcePermissions,
    ViewableAdmin,
    check_permission,
    get_viewable_resources,
    has_permission,
    warn_of_unchecked,
)
from .translations import handle_translation, link_translations

#: The inputs of a field: its key, its resource, its type for the next load, its label, its notes,
#: its weight, and whether it is the name of records.
_INPUTS_OF_FIELD = 7

#: What is shown of a resource, and not asked.
_ADDRESS = ("id", "api_address", "primary_key_display", "created_at", "modified_at")


class FieldFormSet(LabelledFormSet):
    rows = slice(None)

    def get_queryset(self) -> QuerySet[Field]:
        if not hasattr(self, "_queryset"):
            self._queryset = super().get_queryset()[self.rows]
        return self._queryset


class FieldInline(ResourceInline):
    """The data dictionary: labels and notes of the fields, and what ``parts`` add."""

    model = Field
    formset = FieldFormSet
    readonly_fields = ("name_display", "type")
    can_delete = False
    formfield_overrides = {models.TextField: {"widget": forms.Textarea(attrs={"rows": 2})}}

    @admin.display(description=_("name"))
    def name_display(self, field: Field) -> str:
        return str(field)

    def get_formset(self, request: HttpRequest, obj: Resource | None = None, **kwargs: Any) -> Any:
        """Show some of the fields, where all would be too many for a form."""
        kwargs["form"] = next(filter(None, (part.field_form for part in parts.values())), FieldForm)
        formset: Any = super().get_formset(request, obj, **kwargs)
        if obj:
            formset.rows = get_shown_rows(_split_fields(request, obj))
        return formset

    def get_fields(self, request: HttpRequest, obj: Resource | None = None) -> list[Any]:
        added = [name for part in parts.values() for name in part.field_columns]
        return ["name_display", "type", *added, "label", "notes", "weight", "is_name"]

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Refuse: loads make the fields."""
        return False


class AliasInline(ResourceInline):
    model = Alias
    fields = ("name",)

    has_delete_permission = ResourceInline.has_change_permission


def _limit_lock_waits(view: Callable[..., Any]) -> Callable[..., Any]:
    """Let a view change nothing, and say why, when a transaction holds a lock for too long."""

    @wraps(view)
    def run(owner: admin.ModelAdmin, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method != "POST":
            return view(owner, request, *args, **kwargs)
        try:
            with begin_write_transaction(connections[router.db_for_write(Resource)]):
                return view(owner, request, *args, **kwargs)
        except WriteBlocked as blocked:
            messages.error(request, str(blocked))
            return redirect(request.get_full_path())

    return run


@admin.register(Resource)
class ResourceAdmin(ResourcePermissions, ViewableAdmin):
    form = ResourceForm
    list_display = ("title_display", "name", "access", "records", "size")
    list_filter = ("private", "language", "table_version__origin")
    list_select_related = ("table_version",)
    search_fields = ("name", "title", "description", "id", "fields__name", "fields__label")
    prepopulated_fields = {"name": ("title",)}
    readonly_fields = (*_ADDRESS, "translations_display")
    save_on_top = True
    view_on_site = staticmethod(get_page_address)

    def has_delete_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return has_permission(request, "delete", obj)

    changeform_view = _limit_lock_waits(ViewableAdmin.changeform_view)
    delete_view = _limit_lock_waits(ViewableAdmin.delete_view)
    changelist_view = _limit_lock_waits(ViewableAdmin.changelist_view)
    history_view = _limit_lock_waits(ViewableAdmin.history_view)

    def get_urls(self) -> list[URLPattern]:
        added = [
            url for part in parts.values() for url in part.list_urls(self, self._get_changeable)
        ]
        translated = path(
            "<uuid:resource_id>/texts/<str:language>/",
            self.admin_site.admin_view(self.translation_view),
            name="datastore_search_resource_translation",
        )
        return [*added, translated, *super().get_urls()]

    def get_list_display(self, request: HttpRequest) -> Any:
        return [*self.list_display, *(column for part in parts.values() for column in part.columns)]

    @property
    def media(self) -> forms.Media:
        own = forms.Media(js=("admin/js/urlify.js", "datastore_search/names.js"))
        return sum((part.media for part in parts.values()), super().media + own)

    @_limit_lock_waits
    def translation_view(
        self, request: HttpRequest, resource_id: uuid.UUID, language: str
    ) -> HttpResponse:
        resource = self._get_changeable(request, resource_id)
        return handle_translation(request, self, resource, language)

    def _get_changeable(self, request: HttpRequest, resource_id: uuid.UUID) -> Resource:
        resource = get_object_or_404(Resource, pk=resource_id)
        check_permission(request, "change", resource)
        return resource

    def get_fieldsets(self, request: HttpRequest, obj: Resource | None = None) -> Any:
        about = (None, {"fields": ABOUT})
        indexes = (_("Indexes"), {"fields": ["indexes"], "classes": ["collapse"]})
        known = (_("Address"), {"fields": _ADDRESS})
        texts = ["content_language"]
        if obj and has_permission(request, "change", obj):
            texts += ["translations_display", OPENED]
        languages = (_("Languages"), {"fields": texts, "classes": ["collapse"]})
        added = [about, languages, indexes]
        return [*added, known] if obj else added

    def get_readonly_fields(self, request: HttpRequest, obj: Resource | None = None) -> Any:
        added = [name for part in parts.values() for name in part.list_readonly(obj)]
        return [*self.readonly_fields, *added]

    def get_inlines(
        self, request: HttpRequest, obj: Resource | None
    ) -> list[type[admin.options.InlineModelAdmin]]:
        added = [inline for part in parts.values() for inline in part.inlines]
        return [*added, AliasInline, *([FieldInline] if obj else [])]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Resource]:
        resources = super().get_queryset(request).filter(get_viewable_resources(request).condition)
        for part in parts.values():
            resources = part.select_related(resources)
        return resources

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        for part in parts.values():
            part.prepare_list()
        warn_of_unchecked(request, get_viewable_resources(request))
        changelist = super().get_changelist_instance(request)
        resources = cast("Iterable[Resource]", changelist.result_list)
        tables = [r.table_version_id for r in resources if r.table_version_id]
        sizes = measure_record_tables(connections[router.db_for_write(Resource)], tables)
        for resource in resources:
            resource.table_bytes = sizes.get(resource.table_version_id or 0)  # type: ignore[attr-defined] # only here
        return changelist

    @admin.display(description=_("title"), ordering="title")
    def title_display(self, resource: Resource) -> str:
        return str(resource)

    @admin.display(description=_("access"), ordering="private")
    def access(self, resource: Resource) -> str:
        return gettext("private") if resource.private else gettext("public")

    @admin.display(description=_("records"), ordering="table_version__record_count")
    def records(self, resource: Resource) -> str:
        load = resource.table_version
        return format_count(load.record_count) if load else "–"

    @admin.display(description=_("size"))
    def size(self, resource: Resource) -> str:
        table_bytes = getattr(resource, "table_bytes", None)
        return filesizeformat(table_bytes) if table_bytes else "–"

    @admin.display(description=_("API"))
    def api_address(self, resource: Resource) -> str:
        try:
            path = reverse("datastore_search:action", args=["datastore_search"])
        except NoReverseMatch:
            return "–"
        address = f"{path}?resource_id={resource.pk}&limit=5"
        return format_html('<a href="{0}" dir="ltr">{0}</a>', address)

    @admin.display(description=_("primary key"))
    def primary_key_display(self, resource: Resource) -> str:
        return show_bidi_controls(", ".join(resource.primary_key)) or "–"

    @admin.display(description=_("translations"))
    def translations_display(self, resource: Resource) -> str:
        return link_translations(resource)

    def response_add(
        self, request: HttpRequest, obj: Resource, post_url_continue: str | None = None
    ) -> HttpResponse:
        for part in parts.values():
            if response := part.continue_after_adding(request, obj):
                return response
        return super().response_add(request, obj, post_url_continue)

    def get_deleted_objects(
        self, objs: Iterable[Resource], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """List only the resources: their fields, loads and bad rows may be 100,000."""
        named = [str(resource) for resource in objs]
        return named, {str(self.opts.verbose_name_plural): len(named)}, set(), []

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Resource | None:
        """Find a resource, and lock the one that a form changes: see ``VersionedForm``."""
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST":
            return cast("Resource | None", found)
        return Resource.objects.select_for_update().filter(pk=found.pk).first()

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        resource = super().get_object(request, object_id)
        context = dict(extra_context or {})
        for part in parts.values():
            context |= part.build_context(resource)
        if resource:
            context |= {
                "field_part": _split_fields(request, resource),
                "part_templates": [part.template for part in parts.values() if part.template],
                "tools": [
                    tool for part in parts.values() for tool in part.list_tools(resource).items()
                ],
            }
        return super().change_view(request, object_id, form_url, context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        buttons = [part.button for part in parts.values() if part.button]
        return super().add_view(request, form_url, {**(extra_context or {}), "buttons": buttons})


def _split_fields(request: HttpRequest, resource: Resource) -> Page[int]:
    return split_fields(request, resource.fields.count(), _INPUTS_OF_FIELD)

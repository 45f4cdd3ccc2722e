"""The page *Datastore*: what staff who load files do, from the upload to taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from ....admin.parts import get_page_address
from ....admin.permissions import (
    ViewableAdmin,
    get_permitted_resources,
    has_permission,
    warn_of_unchecked,
)
from ....admin.resources import ResourceAdmin
from ....models import Datastore, Resource
from ..conf import conf
from ..jobs import mark_interrupted_loads
from ..models import Load, LoadState
from ..publishing.versions import select_with_former
from .display import UNLISTED_FIELDS, format_rough_time, render_progress
from .part import NEWEST_LOADS

#: Above the resources, the newest first.
MAX_WAITING_LOADS = 10

#: Of those that might wait, the newest: most portals have a few.
_MAX_CHECKED_LOADS = 100

_NEWEST_OF_EACH = NEWEST_LOADS.distinct("resource_id")


@admin.register(Datastore)
class DatastoreAdmin(ViewableAdmin):
    """The resources that the user may change; the links lead to pages of other models."""

    class Media:
        js = ("datastore_search/load_progress.js",)

    change_list_template = "datastore_search/admin/datastore.html"
    list_display = ("title_display", "links", "state", "records", "loaded", "access")
    list_display_links = None
    list_select_related = ("table_version",)
    list_per_page = list_max_show_all = 20
    search_fields = ("title", "name")
    ordering = ("-modified_at", "pk")
    actions = None
    access, records = ResourceAdmin.access, ResourceAdmin.records

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Show the page to a user who may change all resources, or some."""
        found = get_permitted_resources(request, "change")
        return found.is_everything or Resource.objects.filter(found.condition).exists()

    def has_change_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Refuse: the page of a resource changes it."""
        return False

    has_add_permission = has_delete_permission = has_change_permission

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="datastore_search_datastore_changelist")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Datastore]:
        """Read of all resources of a page the newest load, what was loaded, what can be undone."""
        loaded = _NEWEST_OF_EACH.filter(state=LoadState.READY)
        former = select_with_former(_NEWEST_OF_EACH.filter(former__isnull=False))
        return (
            super()
            .get_queryset(request)
            .filter(get_permitted_resources(request, "change").condition)
            .prefetch_related(
                Prefetch("loads", _NEWEST_OF_EACH, to_attr="newest"),
                Prefetch("loads", loaded, to_attr="loaded"),
                Prefetch("loads", former, to_attr="with_former"),
            )
        )

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        mark_interrupted_loads(Load.objects.all())
        warn_of_unchecked(request, get_permitted_resources(request, "change"))
        changelist = super().get_changelist_instance(request)
        resources = cast("Iterable[Any]", changelist.result_list)
        ids = {load.user_id for each in resources for load in each.loaded}
        users = get_user_model().objects.in_bulk(ids - {None})
        for each in resources:
            each.loaded_by = [users.get(load.user_id, "") for load in each.loaded]
        return changelist

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        waiting = self._list_waiting(request)
        context = {
            "title": self.opts.verbose_name,
            "may_add": has_permission(request, "add", None),
            "kept_for": conf.UPLOAD_RETENTION and format_rough_time(conf.UPLOAD_RETENTION),
            "waiting": [(load, render_progress(load)) for load in waiting[:MAX_WAITING_LOADS]],
            "has_more_waiting": len(waiting) > MAX_WAITING_LOADS,
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def _list_waiting(self, request: HttpRequest) -> list[Load]:
        """List drafts, failed loads and loads with bad rows, each the newest of its resource."""
        waits = Q(state__in=(LoadState.DRAFT, LoadState.FAILED)) | Q(row_error_count__gt=0)
        loads = Load.objects.filter(waits).select_related("resource").defer(*UNLISTED_FIELDS)
        permitted = get_permitted_resources(request, "change")
        if not permitted.is_everything:
            loads = loads.filter(resource__in=Resource.objects.filter(permitted.condition))
        found = list(loads.order_by("-pk")[:_MAX_CHECKED_LOADS])
        newest = _NEWEST_OF_EACH.filter(resource__in={load.resource_id for load in found})
        ids = set(newest.values_list("pk", flat=True))
        return [load for load in found if load.pk in ids]

    @admin.display(description=_("title"), ordering="title")
    def title_display(self, resource: Resource) -> SafeString:
        address = reverse("admin:datastore_search_resource_change", args=[resource.pk])
        return format_html('<a href="{}"><bdi>{}</bdi></a>', address, resource)

    @admin.display(description=_("state"))
    def state(self, resource: Any) -> SafeString | str:
        for load in resource.newest:
            address = reverse("admin:datastore_search_files_load_change", args=[load.pk])
            return format_html('<a href="{}">{}</a>', address, render_progress(load))
        return gettext("not loaded yet")

    @admin.display(description=_("last load"))
    def loaded(self, resource: Any) -> SafeString | str:
        for load, user in zip(resource.loaded, resource.loaded_by, strict=True):
            moment = date_format(localtime(load.finished_at or load.created_at), "DATETIME_FORMAT")
            return format_html('{} <bdi class="datastore-quiet">{}</bdi>', moment, user)
        return "–"

    @admin.display(description=_("what to do"))
    def links(self, resource: Any) -> SafeString:
        html = '<a href="{}" aria-label="{}: {}">{}</a>'
        rows = ((address, text, resource, text) for address, text in _list_links(resource))
        return format_html_join(" · ", html, rows)


def _list_links(resource: Any) -> Iterator[tuple[str, str]]:
    if address := get_page_address(resource):
        yield address, pgettext("at a table", "Look")
    address = reverse("admin:datastore_search_resource_load", args=[resource.pk])
    yield address, gettext("Replace") if resource.table_version_id else gettext("Load a file")
    for load in resource.with_former:
        address = reverse("admin:datastore_search_files_load_change", args=[load.pk])
        is_taken_back = load.former_id == load.table_version_id
        text = gettext("The load is taken back") if is_taken_back else gettext("Take back")
        yield f"{address}#former", text

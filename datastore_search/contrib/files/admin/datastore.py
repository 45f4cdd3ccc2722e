"""The page *Datastore*: what staff who load files do, from the upload to taking it back."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from ....admin.parts import get_page_address
from ....admin.permissions import get_permitted_resources, has_permission, warn_of_unchecked
from ....messages.texts import format_count
from ....models import Datastore, Resource
from ..conf import conf
from ..models import Load, LoadState
from ..publishing.versions import select_with_former
from .display import UNLISTED_FIELDS, format_rough_time, render_progress
from .loads import ProgressAdmin
from .part import NEWEST_LOADS

#: Of those that might wait, the newest: most portals have a few, and the page shows ten.
_MAX_CHECKED_LOADS = 100


@admin.register(Datastore)
class DatastoreAdmin(ProgressAdmin):
    """The resources that the user may change; the links lead to pages of other models."""

    change_list_template = "datastore_search/admin/datastore.html"
    list_select_related = ("table_version",)
    list_per_page = list_max_show_all = 20
    search_fields = ("title", "name")
    ordering = ("-modified_at", "pk")

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Show the page to a user who may change all resources, or some."""
        found = get_permitted_resources(request, "change")
        return found.is_everything or Resource.objects.filter(found.condition).exists()

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="datastore_search_datastore_changelist")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Datastore]:
        """Read of all resources of a page the newest load, what was loaded, what can be undone."""
        permitted = get_permitted_resources(request, "change").condition
        loaded = NEWEST_LOADS.filter(state=LoadState.READY)
        former = select_with_former(NEWEST_LOADS)
        kinds = {"newest": NEWEST_LOADS, "loaded": loaded, "with_former": former}
        reads = [Prefetch("loads", loads, to_attr=name) for name, loads in kinds.items()]
        return super().get_queryset(request).filter(permitted).prefetch_related(*reads)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        warn_of_unchecked(request, get_permitted_resources(request, "change"))
        changelist = super().get_changelist_instance(request)
        ids = {load.user_id for each in changelist.result_list for load in each.loaded}
        users = get_user_model().objects.in_bulk(ids - {None})
        for each in changelist.result_list:
            each.page_address, version = get_page_address(each), each.table_version
            each.records = format_count(version.record_count) if version else "–"
            each.states = [(load, render_progress(load)) for load in each.newest]
            each.last_loads = [(load, users.get(load.user_id, "")) for load in each.loaded]
        return changelist

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "title": self.opts.verbose_name,
            "may_add": has_permission(request, "add", None),
            "kept_for": conf.UPLOAD_RETENTION and format_rough_time(conf.UPLOAD_RETENTION),
            "waiting": [(load, render_progress(load)) for load in self._list_waiting(request)],
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
        newest = NEWEST_LOADS.filter(resource__in={load.resource_id for load in found})
        ids = set(newest.values_list("pk", flat=True))
        return [load for load in found if load.pk in ids]

"""Loads in the admin: their progress and outcome; cancelling, retrying, changing options."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext
from django.views.decorators.http import require_POST

from ....admin.parts import get_page_address
from ....admin.permissions import (
    ViewableAdmin,
    check_permission,
    get_viewable_resources,
    has_permission,
)
from ....messages.availability import TemporarilyUnavailable
from ....messages.texts import format_count, show_bidi_controls
from ....models import Resource
from ..conf import conf
from ..jobs import BadRowsChoice, cancel_load, mark_interrupted_loads, retry_load
from ..jobs.queue import copy_load
from ..messages import LoadFailed
from ..models import RUNNING, Load, LoadState
from ..publishing.bad_rows import write_row_error_report
from ..publishing.versions import delete_former_version, find_former_version, publish_former_version
from .display import (
    UNLISTED_FIELDS,
    describe_progress,
    format_bad_row_count,
    format_duration,
    format_progress,
    format_record_count,
    render_badge,
    render_progress,
    show_source,
)
from .drafts import (
    accept_uploads,
    add_failure_message,
    handle_preview,
    handle_upload,
    render_in_words,
)

BAD_ROWS_PER_PAGE = 100
#: Of one request for the progress of loads.
MAX_LOADS_PER_REQUEST = 200
_CHANGE = "admin:datastore_search_files_load_change"

#: The buttons that retry a load with another option, and that of ``LoadOptions``.
_RETRY_OPTIONS = {
    "skip": ("bad_rows", BadRowsChoice.SKIP.value),
    "drop": ("drop_missing_fields", True),
    "force": ("force", True),
}

#: The states of a successful load, in order.
_STEPS = [state for state in LoadState if state in {LoadState.QUEUED, LoadState.READY, *RUNNING}]


class ProgressAdmin(ViewableAdmin):
    """
    A list that shows the progress of loads.

    It changes nothing: loads are made on the page of their resource, and are deleted with it.
    """

    class Media:
        js = ("datastore_search/load_progress.js",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_delete_permission = has_change_permission

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        mark_interrupted_loads(Load.objects.all())
        return super().get_changelist_instance(request)


@admin.register(Load)
class LoadAdmin(ProgressAdmin):
    list_display = (
        show_source,
        "resource",
        render_progress,
        format_record_count,
        format_bad_row_count,
        "created_at",
        format_duration,
    )
    list_filter = ("state", "mode")
    list_select_related = ("resource",)
    search_fields = ("source", "resource__name", "resource__title")
    date_hierarchy = "created_at"
    actions = None
    change_form_template = "datastore_search/admin/load.html"

    def has_view_permission(self, request: HttpRequest, obj: Load | None = None) -> bool:
        return has_permission(request, "view", obj.resource if obj else None)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Load]:
        """List the loads of the resources that the user may view, without large fields."""
        loads = super().get_queryset(request).defer(*UNLISTED_FIELDS)
        viewable = get_viewable_resources(request)
        if viewable.is_everything:
            return loads
        return loads.filter(resource__in=Resource.objects.filter(viewable.condition))

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view, "datastore_search_files_load"
        options_view = accept_uploads(self, self.options_view, self._get_permitted)
        return [
            path("progress/", view(self.progress_view), name=f"{name}_progress"),
            path("<int:load_id>/preview/", view(self.preview_view), name=f"{name}_preview"),
            path("<int:load_id>/options/", options_view, name=f"{name}_options"),
            path("<int:load_id>/cancel/", view(self.cancel_view), name=f"{name}_cancel"),
            path("<int:load_id>/retry/", view(self.retry_view), name=f"{name}_retry"),
            path("<int:load_id>/former/", view(self.former_view), name=f"{name}_former"),
            path("<int:load_id>/bad-rows.csv", view(self.bad_rows_view), name=f"{name}_bad_rows"),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the progress or the outcome of a load; redirect a draft to its preview."""
        mark_interrupted_loads(Load.objects.all())
        load = self.get_object(request, object_id)
        if load is None or not self.has_view_permission(request, load):
            return super().change_view(request, object_id, form_url, extra_context)
        if load.state == LoadState.DRAFT:
            return redirect("admin:datastore_search_files_load_preview", load.pk)
        former = find_former_version(load)
        page = Paginator(load.row_errors.all(), BAD_ROWS_PER_PAGE).get_page(request.GET.get("page"))
        return super().change_view(
            request,
            object_id,
            form_url,
            {
                **(extra_context or {}),
                "title": capfirst(self.opts.verbose_name),
                "subtitle": show_bidi_controls(load.source),
                "load": load,
                "resource": load.resource,
                "steps": _STEPS,
                "step": _STEPS.index(LoadState(load.state)) if load.state in _STEPS else None,
                "progress": format_progress(load),
                "duration": format_duration(load),
                "notices": list(filter(None, map(render_in_words, load.notices))),
                "page": page,
                "can_change": has_permission(request, "change", load.resource),
                "can_delete": has_permission(request, "delete", load.resource),
                "record_count": format_count(load.record_count),
                "bad_row_count": format_count(load.row_error_count),
                "badge": render_badge(load),
                "address": get_page_address(load.resource),
                "former": former,
                "former_count": former and format_count(former.record_count),
                "former_until": former and load.finished_at + conf.UPLOAD_RETENTION,
                "is_taken_back": former and former.pk == load.table_version_id,
            },
        )

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """Describe the progress of loads (``?load=1&load=2``), of those that the user may view."""
        sent = [each[:20] for each in request.GET.getlist("load")[:MAX_LOADS_PER_REQUEST]]
        ids = [each for each in sent if each.isascii() and each.isdecimal()]
        loads = Load.objects.filter(pk__in=ids).select_related("resource")
        mark_interrupted_loads(loads)
        viewable = [load for load in loads if has_permission(request, "view", load.resource)]
        return JsonResponse({"loads": {str(load.pk): describe_progress(load) for load in viewable}})

    def preview_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        load = self._get_permitted(request, load_id)
        if load.state != LoadState.DRAFT:
            return redirect(_CHANGE, load_id)
        return handle_preview(request, self, load)

    def options_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Change the options of a draft; a POST makes a new draft of a finished load."""
        load = self._get_permitted(request, load_id)
        if load.state == LoadState.DRAFT:
            return handle_upload(request, self, load.resource, load)
        if not load.is_finished or request.method != "POST":
            return redirect(_CHANGE, load_id)
        try:
            draft = copy_load(load, LoadState.DRAFT, request.user)
        except LoadFailed as error:
            messages.error(request, str(error))
            return redirect(_CHANGE, load_id)
        return redirect("admin:datastore_search_files_load_options", draft.pk)

    @method_decorator(require_POST)
    def cancel_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        if cancel_load(self._get_permitted(request, load_id)):
            messages.info(request, gettext("The load is being cancelled."))
        else:
            messages.info(request, gettext("The load had already ended."))
        return redirect(_CHANGE, load_id)

    @method_decorator(require_POST)
    def retry_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Retry a load, with its options or with one that allows what made it fail."""
        load = self._get_permitted(request, load_id)
        changes = dict(choice for name, choice in _RETRY_OPTIONS.items() if name in request.POST)
        try:
            load = retry_load(load, user=request.user, **changes)
        except LoadFailed as error:
            add_failure_message(request, error)
        return redirect(_CHANGE, load.pk)

    @method_decorator(require_POST)
    def former_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Publish the records from before a load again, or those of the load; or delete them."""
        load = self._get_permitted(request, load_id)
        try:
            if version_id := request.POST.get("delete"):
                check_permission(request, "delete", load.resource)
                delete_former_version(load, version_id)
            else:
                publish_former_version(load, request.POST.get("publish", ""), request.user)
                messages.success(request, gettext("The records are published again."))
        except (LoadFailed, TemporarilyUnavailable) as error:
            messages.error(request, str(error))
        return redirect(_CHANGE, load_id)

    def bad_rows_view(self, request: HttpRequest, load_id: int) -> StreamingHttpResponse:
        load = self._get_permitted(request, load_id, "view")
        return StreamingHttpResponse(
            write_row_error_report(load, get_language() or settings.LANGUAGE_CODE),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="bad_rows_{load.pk}.csv"'},
        )

    def _get_permitted(self, request: HttpRequest, load_id: int, verb: str = "change") -> Load:
        load = get_object_or_404(Load.objects.select_related("resource"), pk=load_id)
        check_permission(request, verb, load.resource)
        return load

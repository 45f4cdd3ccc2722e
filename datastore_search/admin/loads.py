"""Loads in the admin: how far they are, how they ended, and what can be done about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from ..exceptions.loads import LoadFailed
from ..loading.jobs import BadRowsChoice, LoadOptions, cancel, drafts, mark_interrupted_loads, retry
from ..loading.publishing.row_errors import write_row_error_report
from ..models import Load, LoadState, Resource
from .database_errors import RefusalAwareAdmin
from .display import (
    UNSHOWN,
    address_of,
    advance,
    bad_rows_of,
    badge,
    grouped,
    live,
    progress_of,
    records_of,
    took,
)
from .drafts import options_page, preview_page
from .permissions import has_any_at_once, may, refuse_long_id, require, viewable
from .uploads import receives_files

_BAD_ROWS_A_PAGE = 100
#: Loads that one question after their progress may name.
_ASKED_MOST = 200
_CHANGE = "admin:datastore_search_load_change"

#: What can be allowed when a load is begun again, and the choice of ``LoadOptions`` that does it.
_ALLOWED: dict[str, dict[str, Any]] = {
    "skip": {"bad_rows": BadRowsChoice.SKIP.value},
    "drop": {"may_drop": True},
    "force": {"force": True},
}

#: The states of a load that goes well, in order.
_WAY = (
    LoadState.QUEUED,
    LoadState.READING,
    LoadState.COPYING,
    LoadState.INDEXING,
    LoadState.READY,
)


@admin.register(Load)
class LoadAdmin(RefusalAwareAdmin):
    """Loads: nobody writes them, but they can be watched, ended and begun again."""

    list_display = (
        "source",
        "resource",
        "shown_state",
        "records",
        "bad",
        "created_at",
        "took",
        "mode",
    )
    list_filter = ("state", "mode", "origin")
    list_select_related = ("resource",)
    search_fields = ("source", "resource__name", "resource__title")
    date_hierarchy = "created_at"
    actions = None
    change_form_template = "datastore_search/admin/load.html"

    class Media:
        css = {"all": ("datastore_search/admin.css",)}
        js = ("datastore_search/load_progress.js",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show the app to whoever may view any resource."""
        return super().has_module_permission(request) or has_any_at_once(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let only loading make loads."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Load | None = None) -> bool:
        """Ask for the resource."""
        return may(request, "view", obj.resource if obj else None)

    def has_change_permission(self, request: HttpRequest, obj: Load | None = None) -> bool:
        """Nothing in a load can be edited."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Load | None = None) -> bool:
        """Let loads go only with their resource."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Load]:
        """List the loads of what the user may view; leave out what no list shows."""
        loads = super().get_queryset(request).defer(*UNSHOWN)
        found = viewable(request)
        if found.is_everything:
            return loads
        return loads.filter(resource__in=Resource.objects.filter(found.condition))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Load | None:
        """
        Find a load, listed or not: its page asks for the permission that it takes.

        Raises: ``Http404`` for a part of the address that is too long: no message repeats it.
        """
        refuse_long_id(object_id)
        if not object_id.isdecimal():
            return None
        return Load.objects.defer(*UNSHOWN).select_related("resource").filter(pk=object_id).first()

    def get_urls(self) -> list[URLPattern]:
        """Add the pages of a load, and what can be done with it."""
        view = self.admin_site.admin_view
        added = [path("progress/", view(self.progress_view), name="datastore_search_load_progress")]
        for name, of_load in (
            ("preview", view(self.preview_view)),
            ("options", receives_files(self, self.options_view, self._changeable)),
            ("cancel", view(self.cancel_view)),
            ("retry", view(self.retry_view)),
            ("bad-rows.csv", view(self.bad_rows_view)),
        ):
            known = name.partition(".")[0].replace("-", "_")
            address = name if "." in name else f"{name}/"
            added.append(
                path(f"<int:load_id>/{address}", of_load, name=f"datastore_search_load_{known}")
            )
        return [*added, *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Find the loads first whose process is gone."""
        mark_interrupted_loads(Load.objects.all())
        return super().get_changelist_instance(request)

    # Columns ------------------------------------------------------------------------------------

    @admin.display(description=_("state"), ordering="state")
    def shown_state(self, load: Load) -> str:
        """Show the state, and how far it is."""
        return live(load)

    @admin.display(description=_("records"), ordering="rows")
    def records(self, load: Load) -> str:
        """Show how many records were loaded."""
        return records_of(load)

    @admin.display(description=_("bad rows"), ordering="row_error_count")
    def bad(self, load: Load) -> str:
        """Show how many rows could not be loaded."""
        return bad_rows_of(load)

    @admin.display(description=_("took"))
    def took(self, load: Load) -> str:
        """Show how long the load took."""
        return took(load)

    # Pages --------------------------------------------------------------------------------------

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show how far a load is, or how it ended; a draft is seen as its preview."""
        refuse_long_id(object_id)
        if object_id.isdecimal():
            mark_interrupted_loads(Load.objects.filter(pk=object_id))
        load = self.get_object(request, object_id)
        if load is None or not self.has_view_permission(request, load):
            return super().change_view(request, object_id, form_url, extra_context)
        if load.state == LoadState.DRAFT:
            return redirect("admin:datastore_search_load_preview", load.pk)
        page = Paginator(load.row_errors.all(), _BAD_ROWS_A_PAGE).get_page(request.GET.get("page"))
        return super().change_view(
            request,
            object_id,
            form_url,
            {
                **(extra_context or {}),
                "title": capfirst(self.opts.verbose_name),
                "subtitle": load.source,
                "load": load,
                "resource": load.resource,
                "way": _way(load),
                "advance": advance(load),
                "took": took(load),
                "page": page,
                "may_change": may(request, "change", load.resource),
                "records": grouped(load.rows),
                "faults": grouped(load.row_error_count),
                "badge": badge(load),
                "address": address_of(load.resource),
                "failure": (load.failure or {}).get("code"),
            },
        )

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """Say how far some loads are (``?load=1&load=2``), those that may be seen."""
        asked = [each for each in request.GET.getlist("load")[:_ASKED_MOST] if each.isdecimal()]
        loads = Load.objects.filter(pk__in=asked).select_related("resource")
        mark_interrupted_loads(loads)
        seen = [load for load in loads if may(request, "view", load.resource)]
        return JsonResponse({"loads": {str(load.pk): progress_of(load) for load in seen}})

    def preview_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Show what a draft's file holds."""
        load = self._changeable(request, load_id)
        return preview_page(request, self, load) if _is_draft(load) else redirect(_CHANGE, load_id)

    def options_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Change how a file is read: that of a draft, or of a load that has failed."""
        load = self._changeable(request, load_id)
        if not _is_draft(load) and load.is_finished and request.method == "POST":
            return self._drafted_again(request, load)
        return options_page(request, self, load) if _is_draft(load) else redirect(_CHANGE, load_id)

    def cancel_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """End a load."""
        load = self._changeable(request, load_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if cancel(load):
            messages.info(request, gettext("The load is being cancelled."))
        else:
            messages.info(request, gettext("The load was over already."))
        return redirect(_CHANGE, load_id)

    def retry_view(self, request: HttpRequest, load_id: int) -> HttpResponse:
        """Begin a load again, as it was or with what ended it allowed."""
        load = self._changeable(request, load_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        changes = [choice for name, choice in _ALLOWED.items() if name in request.POST]
        try:
            load = _begun_again(load, changes)
        except LoadFailed as error:
            messages.error(
                request,
                gettext("The file was not loaded; the records are as they were. %(reason)s")
                % {"reason": error},
            )
        return redirect(_CHANGE, load.pk)

    def bad_rows_view(self, request: HttpRequest, load_id: int) -> StreamingHttpResponse:
        """Download the rows that could not be loaded, as CSV."""
        load = get_object_or_404(Load.objects.select_related("resource"), pk=load_id)
        require(request, "view", load.resource)
        return StreamingHttpResponse(
            write_row_error_report(load, get_language() or settings.LANGUAGE_CODE),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="bad_rows_{load.pk}.csv"'},
        )

    def _drafted_again(self, request: HttpRequest, load: Load) -> HttpResponse:
        try:
            load = drafts.create_draft_from(load, LoadOptions.revived(load.options))
        except LoadFailed as error:
            messages.error(request, str(error))
            return redirect(_CHANGE, load.pk)
        return redirect("admin:datastore_search_load_options", load.pk)

    def _changeable(self, request: HttpRequest, load_id: int) -> Load:
        """
        Find a load of a resource that the user may change.

        Raises: ``Http404``, ``PermissionDenied``.
        """
        load = get_object_or_404(Load.objects.select_related("resource"), pk=load_id)
        require(request, "change", load.resource)
        return load


def _is_draft(load: Load) -> bool:
    return load.state == LoadState.DRAFT


def _begun_again(load: Load, changes: list[dict[str, Any]]) -> Load:
    """
    Queue a load once more, with other choices if there are any.

    Raises: ``LoadFailed`` with ``load.not_retryable``.
    """
    if not changes:
        return retry(load)
    options = LoadOptions.revived(load.options)
    for change in changes:
        options = replace(options, **change)
    new = drafts.create_draft_from(load, options)
    drafts.submit_draft(new, options)
    return new


def _way(load: Load) -> list[dict[str, Any]]:
    """Say which states are over, which one is, and which are to come."""
    if load.state not in _WAY:
        return []
    at = _WAY.index(LoadState(load.state))
    return [
        {"label": state.label, "over": place < at, "current": place == at, "state": state.value}
        for place, state in enumerate(_WAY)
    ]

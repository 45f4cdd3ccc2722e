"""What loading adds to the pages of resources in the admin."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy as _

from ....admin.parts import ResourcePart
from ....messages.texts import show_bidi_controls
from ....models import Resource
from ..jobs import mark_interrupted_loads
from ..models import Load
from ..publishing.versions import select_with_former
from .display import (
    UNLISTED_FIELDS,
    format_bad_row_count,
    format_duration,
    format_record_count,
    render_progress,
)
from .drafts import accept_uploads, handle_upload
from .forms import LoadedFieldForm

#: On the page of a resource; the list of loads has all.
MAX_LISTED_LOADS = 20

_LOADS = Load.objects.defer(*UNLISTED_FIELDS).order_by("resource_id", "-created_at", "-pk")
NEWEST_LOADS = _LOADS.distinct("resource_id")


@admin.display(description=_("state"))
def state_display(resource: Any) -> str:
    return next(map(render_progress, resource.newest), gettext("not loaded yet"))


@admin.display(description=_("last load"), empty_value="–")
def last_load(resource: Any) -> Any:
    return next((load.created_at for load in resource.newest), None)


class LoadsOfResource(ResourcePart):
    """The loads of a resource, and the page that receives a file."""

    columns = (state_display, last_load)
    field_columns = ("chosen_type",)
    field_form = LoadedFieldForm
    media = forms.Media(js=("datastore_search/load_progress.js",))
    template = "datastore_search/admin/_loads.html"
    button = ("_load", _("Save and load a file"))

    def list_urls(
        self, owner: ModelAdmin, get_changeable: Callable[..., Resource]
    ) -> list[URLPattern]:
        def receive(request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
            return handle_upload(request, owner, get_changeable(request, resource_id))

        view = accept_uploads(owner, receive, get_changeable)
        return [path("<uuid:resource_id>/load/", view, name="datastore_search_resource_load")]

    def list_tools(self, resource: Resource) -> Mapping[str, Any]:
        address = reverse("admin:datastore_search_resource_load", args=[resource.pk])
        return {address: _("Load a file")}

    def select_related(self, resources: QuerySet[Resource]) -> QuerySet[Resource]:
        """Read the newest loads of all resources in one query."""
        return resources.prefetch_related(Prefetch("loads", NEWEST_LOADS, to_attr="newest"))

    def prepare_list(self) -> None:
        mark_interrupted_loads(Load.objects.all())

    def build_context(self, resource: Resource | None) -> dict[str, Any]:
        loads = Load.objects.defer(*UNLISTED_FIELDS).filter(resource=resource)
        mark_interrupted_loads(loads)
        return {
            "replacing": select_with_former(Load.objects.filter(resource=resource)).first(),
            "loads": [
                {
                    "load": load,
                    "source": show_bidi_controls(load.url or load.source),
                    "state": render_progress(load),
                    "records": format_record_count(load),
                    "bad_rows": format_bad_row_count(load),
                    "duration": format_duration(load),
                }
                for load in loads[:MAX_LISTED_LOADS]
            ],
            "more_loads": loads.count() > MAX_LISTED_LOADS,
        }

    def continue_after_adding(
        self, request: HttpRequest, resource: Resource
    ) -> HttpResponse | None:
        if "_load" not in {**request.GET, **request.POST}:
            return None
        return redirect("admin:datastore_search_resource_load", resource.pk)


loads_of_resource = LoadsOfResource()

"""The pages of a draft: the upload, its options, and the preview from which it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import AdminForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from ....admin.field_parts import get_shown_rows, split_fields
from ....models import Resource
from ..jobs import LoadOptions, drafts, resolve_options
from ..messages.failures import LoadFailed
from ..models import Load
from .display import get_queue_notice
from .forms import LoadForm, PreviewForm
from .preview import Offer, build_fields, build_preview_context

_PREVIEW = "admin:datastore_search_files_load_preview"

#: Of the form of a preview: the type.
_INPUTS_OF_FIELD = 1


def handle_upload(
    request: HttpRequest, owner: ModelAdmin, resource: Resource, load: Load | None = None
) -> HttpResponse:
    """Show the form for a file and its options; what was sent makes a draft, or changes one."""
    options = (
        LoadOptions.from_json(load.options) if load else resolve_options(resource, LoadOptions())
    )
    files = request.FILES or None
    form = LoadForm(resource, options, request.POST or None, files, has_file=load is not None)
    if request.method == "POST" and form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("file", "url")}
        if load:
            drafts.update_draft(load, form.build_options(), **given)
        else:
            load = drafts.create_draft(resource, form.build_options(), user=request.user, **given)
        return redirect(_PREVIEW, load.pk)
    title = gettext("Change options") if load else gettext("Load a file")
    context = _build_context(owner, request, resource, title, load) | {
        "form": form,
        # Any form will do, though the stubs ask for a ModelForm.
        "adminform": AdminForm(cast(Any, form), form.fieldsets, {}, model_admin=owner),
        "media": owner.media + form.media,
    }
    return TemplateResponse(request, "datastore_search/admin/upload.html", context)


def handle_preview(request: HttpRequest, owner: ModelAdmin, load: Load) -> HttpResponse:
    """Show the preview of a draft, or load, change or discard the draft."""
    preview = None if load.preview is None else build_preview_context(load.preview)
    options = LoadOptions.from_json(load.options)
    names = preview["field_names"] if preview else []
    part = split_fields(request, len(names), _INPUTS_OF_FIELD)
    form = PreviewForm(
        options,
        names,
        request.POST or None,
        has_bad_rows=bool(preview and preview["bad_row_count"]),
        rows=get_shown_rows(part),
    )
    if "cancel" in request.POST:
        load.delete()
        messages.info(request, gettext("Nothing was loaded; the upload is deleted."))
        return redirect("admin:datastore_search_resource_change", load.resource_id)
    if preview is None and "again" in request.POST:  # the worker that made it may be gone
        drafts.update_draft(load, options)
        return redirect(_PREVIEW, load.pk)
    if preview and form.is_valid():
        if form.cleaned_data["seen"] not in {"", preview["digest"]}:
            messages.warning(request, gettext("The draft has changed. Check it again."))
            return redirect(_PREVIEW, load.pk)
        chosen = _apply_click(request, preview["offers"], form.build_options())
        return _apply_choices(request, load, chosen)
    context = _build_context(owner, request, load.resource, gettext("Preview"), load)
    context |= {"preview": preview, "form": form}
    context["fields"] = build_fields(load.preview or {}, form)
    context["field_part"] = part
    context["queue_notice"] = get_queue_notice(load)
    return TemplateResponse(request, "datastore_search/admin/preview.html", context)


def _apply_click(
    request: HttpRequest, offers: Iterable[Offer], options: LoadOptions
) -> LoadOptions:
    """Return the options with what the preview offers, if a click has chosen it."""
    for offer in offers:
        if request.POST.get(offer.option) == offer.key:
            chosen = offer.apply(getattr(options, offer.option))
            return replace(options, **{offer.option: chosen})
    return options


def _apply_choices(request: HttpRequest, load: Load, options: LoadOptions) -> HttpResponseRedirect:
    if "load" not in request.POST:
        drafts.update_draft(load, options)
        return redirect(request.get_full_path())
    try:
        drafts.submit_draft(load, options)
    except LoadFailed as error:
        add_failure_message(request, error)
    return redirect("admin:datastore_search_files_load_change", load.pk)


def add_failure_message(request: HttpRequest, error: LoadFailed) -> None:
    """Show the user why a load could not be queued, or failed at once."""
    messages.error(
        request,
        gettext("The file was not loaded; the records have not changed. %(reason)s")
        % {"reason": error},
    )


def _build_context(
    owner: ModelAdmin, request: HttpRequest, resource: Resource, title: str, load: Load | None
) -> dict[str, Any]:
    """Build the context that every page of a resource or of its draft needs."""
    return {
        **owner.admin_site.each_context(request),
        "media": owner.media,
        "title": title,
        "subtitle": str(resource),
        "resource": resource,
        "load": load,
    }

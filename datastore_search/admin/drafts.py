"""From an upload to a load: the form, the preview, and the word that it be loaded."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import AdminForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from ..exceptions.loads import LoadFailed
from ..loading.jobs import LoadOptions, drafts, resolve_options
from ..models import Load, Resource
from .display import untaken
from .forms import LoadForm, PreviewForm
from .preview import found_in

_PREVIEW = "admin:datastore_search_load_preview"


def upload_page(request: HttpRequest, owner: ModelAdmin, resource: Resource) -> HttpResponse:
    """Ask for a file and how it is read, and make a draft of them."""
    options = resolve_options(resource, LoadOptions())
    form = LoadForm(resource, options, request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("file", "url")}
        load = drafts.create_draft(resource, form.chosen(), **given)
        return redirect(_PREVIEW, load.pk)
    context = _context(owner, request, resource, gettext("Load a file"))
    return _asking(request, owner, form, context)


def options_page(request: HttpRequest, owner: ModelAdmin, load: Load) -> HttpResponse:
    """Let the options of a draft be changed, or its file."""
    form = LoadForm(
        load.resource,
        LoadOptions.revived(load.options),
        request.POST or None,
        request.FILES or None,
        stored=True,
    )
    if request.method == "POST" and form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("file", "url")}
        drafts.update_draft(load, form.chosen(), **given)
        return redirect(_PREVIEW, load.pk)
    context = _context(owner, request, load.resource, gettext("Change options"), load)
    return _asking(request, owner, form, context)


def preview_page(request: HttpRequest, owner: ModelAdmin, load: Load) -> HttpResponse:
    """Show what a file holds, and do what is asked then."""
    found = found_in(load)
    options = LoadOptions.revived(load.options)
    form = PreviewForm(options, found.names if found else (), request.POST or None)
    if "cancel" in request.POST:
        return _discarded(request, load)
    if found is None and "again" in request.POST:  # whoever was to look may be gone
        drafts.update_draft(load, options)
        return redirect(_PREVIEW, load.pk)
    if found and form.is_valid():
        if form.cleaned_data["seen"] not in {"", found.mark}:
            messages.warning(request, gettext("The draft has changed. Look at it once more."))
            return redirect(_PREVIEW, load.pk)
        return _answered(request, load, form.chosen())
    context = _context(owner, request, load.resource, gettext("Preview"), load)
    context |= {"found": found, "form": form, "fields": found.fields(form) if found else ()}
    context["untaken"] = untaken(load)
    return TemplateResponse(request, "datastore_search/admin/preview.html", context)


def _answered(request: HttpRequest, load: Load, options: LoadOptions) -> HttpResponseRedirect:
    if "load" not in request.POST:
        drafts.update_draft(load, options)
        return redirect(_PREVIEW, load.pk)
    try:
        drafts.submit_draft(load, options)
    except LoadFailed as error:
        messages.error(
            request,
            gettext("The file was not loaded; the records are as they were. %(reason)s")
            % {"reason": error},
        )
    return redirect("admin:datastore_search_load_change", load.pk)


def _discarded(request: HttpRequest, load: Load) -> HttpResponseRedirect:
    drafts.delete_draft(load)
    messages.info(request, gettext("Nothing was loaded; the upload is deleted."))
    return redirect("admin:datastore_search_resource_change", load.resource_id)


def _asking(
    request: HttpRequest, owner: ModelAdmin, form: LoadForm, context: dict[str, Any]
) -> HttpResponse:
    context |= {
        "form": form,
        # Any form will do, though the stubs ask for a ModelForm.
        "adminform": AdminForm(cast(Any, form), form.fieldsets, {}, model_admin=owner),
        "media": owner.media + form.media,
    }
    return TemplateResponse(request, "datastore_search/admin/upload.html", context)


def _context(
    owner: ModelAdmin,
    request: HttpRequest,
    resource: Resource,
    title: str,
    load: Load | None = None,
) -> dict[str, Any]:
    """Say what every page of a resource needs, or of a draft of one."""
    return {
        **owner.admin_site.each_context(request),
        "media": owner.media,
        "title": title,
        "subtitle": str(resource),
        "resource": resource,
        "load": load,
    }

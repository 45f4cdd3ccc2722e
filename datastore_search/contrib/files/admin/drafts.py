"""The pages of a draft: the upload, its options, and the preview from which it is loaded."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import AdminForm
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt

from ....admin.forms import get_shown_rows, split_fields
from ....field_types import label_type
from ....messages.availability import FileNotStored
from ....messages.requests import InvalidContentLength
from ....messages.texts import format_count
from ....models import Resource
from ....web.views import measure_body
from ..conf import conf
from ..formats.options import Kind
from ..jobs import LoadOptions, drafts, resolve_options
from ..messages import LoadFailed, Message, UploadTooLarge
from ..models import Load
from ..types.options import load_options
from .display import get_queue_notice
from .forms import MAX_SCHEMA_BYTES, LoadForm, PreviewForm, describe_type

_PREVIEW = "admin:datastore_search_files_load_preview"

#: The other parts of the form of an upload, beside the file and the Table Schema.
MAX_OPTIONS_BYTES = 3 * 2**20

#: Of the form of a preview: the type.
_INPUTS_OF_FIELD = 1

#: The fields that one button names; it may choose the types of more.
_MAX_NAMED_FIELDS = 5

#: The parameters of messages that are names of formats, which may be offered.
_FORMATS = ("one", "other")


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
    rows = get_shown_rows(part)
    form = PreviewForm(
        options,
        names,
        request.POST or None,
        has_bad_rows=bool(preview and preview.get("bad_row_count")),
        rows=rows,
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
        options = form.build_options()
        clicks = (each for each in preview["offers"] if request.POST.get(each.option) == each.key)
        if offer := next(clicks, None):
            chosen = offer.apply(getattr(options, offer.option))
            options = replace(options, **{offer.option: chosen})
        if "load" not in request.POST:
            drafts.update_draft(load, options)
            return redirect(request.get_full_path())
        try:
            drafts.submit_draft(load, options)
        except LoadFailed as error:
            add_failure_message(request, error)
        return redirect("admin:datastore_search_files_load_change", load.pk)
    stored = (load.preview or {}).get("fields", ())
    context = _build_context(owner, request, load.resource, gettext("Preview"), load) | {
        "preview": preview,
        "form": form,
        "fields": [
            {
                **field,
                "label": field["label"] if field["label"] != field["name"] else "",
                "found": render_in_words(field["explanation"]) or describe_type(field["format"]),
                "before": label_type(field["before"]),
                "input": form[f"type_{position}"],
            }
            for position, field in [*enumerate(stored)][rows]
        ],
        "field_part": part,
        "queue_notice": get_queue_notice(load),
    }
    return TemplateResponse(request, "datastore_search/admin/preview.html", context)


def add_failure_message(request: HttpRequest, error: LoadFailed) -> None:
    """Show the user why a load could not be queued, or failed at once."""
    text = gettext("The file was not loaded; the records have not changed. %(reason)s")
    messages.error(request, text % {"reason": error})


def _build_context(
    owner: ModelAdmin, request: HttpRequest, resource: Resource, title: str, load: Load | None
) -> dict[str, Any]:
    return {
        **owner.admin_site.each_context(request),
        "media": owner.media,
        "title": title,
        "subtitle": str(resource),
        "resource": resource,
        "load": load,
    }


# Uploads ------------------------------------------------------------------------------------------


def accept_uploads(
    owner: ModelAdmin, view: Callable[..., HttpResponse], check: Callable[..., object]
) -> Callable[..., HttpResponse]:
    """
    Make an admin view of a view that receives files.

    Before Django's CSRF protection reads the whole form, files included, ``check`` is called with
    the arguments of the view, and raises if the user may not upload; then the size of the request
    is checked.
    """
    protected = owner.admin_site.admin_view(view)
    signing_in = owner.admin_site.admin_view(csrf_exempt(view))

    @csrf_exempt  # the inner view checks the token, once the form may be read
    @wraps(view)
    def receive(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            return protected(request, *args, **kwargs)
        if not owner.admin_site.has_permission(request):
            return signing_in(request, *args, **kwargs)
        try:
            check(request, *args, **kwargs)
        except Exception:
            # The error page would read the form to find its token.
            request.csrf_processing_done = True  # type: ignore[attr-defined] # Django's mark
            raise
        try:
            size = measure_body(request)
        except InvalidContentLength as error:
            return HttpResponseBadRequest(str(error))
        refusal, status = str(UploadTooLarge(most=filesizeformat(conf.MAX_UPLOAD_BYTES))), 413
        if size <= conf.MAX_UPLOAD_BYTES + MAX_SCHEMA_BYTES + MAX_OPTIONS_BYTES:
            try:
                request.FILES.keys()  # reads the form, into temporary files
                return protected(request, *args, **kwargs)
            except (OSError, FileNotStored):
                logging.getLogger(__name__).warning("An upload is not stored.", exc_info=True)
                refusal, status = str(FileNotStored()), 503
        messages.error(request, refusal)
        request.method = "GET"  # show the form again, without reading the rest
        response = protected(request, *args, **kwargs)
        response.status_code = status
        return response

    return receive


# The stored preview -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """A value for an option of the load that the preview offers; ``key`` is what a button sends."""

    option: str
    key: str
    value: Any
    label: str

    def apply(self, chosen: Any) -> Any:
        """Return the option with this value: it is added to texts, and to types of fields."""
        if isinstance(self.value, dict):
            return {**chosen, **self.value}
        return (*chosen, *self.value) if isinstance(self.value, tuple) else self.value


def build_preview_context(stored: Mapping[str, Any]) -> dict[str, Any]:
    """
    Build what the page of a draft shows of its preview, which ``jobs.drafts`` stores as JSON.

    That is what is stored, and more: ``digest`` is different for each preview of the draft;
    ``findings`` are what is odd about the file, and ``offers`` all that can be chosen by one click.
    """
    failure, fields = stored.get("failure"), stored.get("fields", ())
    bad_rows, bad_row_count = stored.get("row_errors", ()), stored.get("bad_row_count", 0)
    findings = list(_list_findings(stored.get("notices", ()), fields))
    errors = {offer.key: offer for row in bad_rows for offer in _make_offers(row["reason"])}
    failed, row_count = list(_make_offers(failure or {})), stored.get("row_count", 0)
    between = row_count - len(stored.get("rows", ())) - len(stored.get("last_rows", ()))
    context = {
        **stored,
        "digest": hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest(),
        "failure": {"text": LoadFailed.from_json(failure), "offers": failed} if failure else None,
        "findings": findings,
        "offers": [*chain(failed, *(each["offers"] for each in findings), errors.values())],
        "field_names": [field["name"] for field in fields],
        "rows_between": format_count(between) if between else "",
        "row_count": format_count(row_count),
        "bad_rows": [
            {**row, "line": format_count(row["line"]), "reason": render_in_words(row["reason"])}
            for row in bad_rows
        ],
        "bad_row_offers": list(errors.values()),
    }
    if len({row["line"] for row in bad_rows}) < bad_row_count:
        text = gettext("These are the first of %(count)s bad rows; the load’s report lists more.")
        context["bad_rows_caption"] = text % {"count": format_count(bad_row_count)}
    return context


def _list_findings(
    notices: Sequence[dict[str, Any]], fields: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """List what is odd: notices, and fields that may have another type, each with its offers."""
    offered: set[str] = set()
    typed: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    explained = [(each["name"], each["explanation"]) for each in fields if each["explanation"]]
    for field, message in (*(("", notice) for notice in notices), *explained):
        parameters = message["parameters"]
        formats = (
            *parameters.get("formats", ()),
            *(parameters[name] for name in _FORMATS if name in parameters),
        )
        offers = [offer for offer in _make_offers(message) if offer.key not in offered]
        offered.update(offer.key for offer in offers)
        finding = {"field": field, "text": render_in_words(message), "offers": offers}
        if formats:
            typed.setdefault(formats, {}).setdefault(field or parameters["field"], finding)
        elif finding["text"] and (offers or not field):
            yield finding
    for formats, found in typed.items():
        first, *_more = fitting = list(found)
        listed = ", ".join(f"“{field}”" for field in fitting[:_MAX_NAMED_FIELDS])
        listed += ", …" if len(fitting) > _MAX_NAMED_FIELDS else ""
        label = gettext("Read %(fields)s as %(type)s")
        offers = [
            Offer(
                "types",
                f"{first}={name}",
                dict.fromkeys(fitting, name),
                label % {"fields": listed, "type": describe_type(name)},
            )
            for name in formats
        ]
        yield {**found[first], "offers": offers}


def _make_offers(message: Mapping[str, Any]) -> Iterator[Offer]:
    """Make the offers that belong to a message, or to the reason why a file cannot be loaded."""
    for name, option in load_options.items():
        if offer := option.offers.get(message.get("code", "")):
            choices = list(offer.list_choices(message["parameters"]))
            if option.kind is Kind.TEXTS and choices:  # all of them at once
                texts = tuple(value for value, _label in choices)
                label = str(offer.label) % {"name": ", ".join(f"“{text}”" for text in texts)}
                yield Offer(name, texts[0], texts, label)
            else:
                yield from (Offer(name, str(value), value, label) for value, label in choices)


def render_in_words(stored: dict[str, Any] | None) -> str:
    """Render a stored message with formats in words; empty for none, or an unknown code."""
    message = Message.from_json(_use_words(stored)) if stored else None
    return str(message or "")


def _use_words(stored: Any, name: str = "") -> Any:
    """Replace the names of formats among the parameters of a stored message by words."""
    if isinstance(stored, dict):
        return {each: _use_words(value, each) for each, value in stored.items()}
    return describe_type(stored) if name in {*_FORMATS, "chosen"} else stored

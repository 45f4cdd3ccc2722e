"""Resources in the admin."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import connections, models, router
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import storage
from ..conf import conf
from ..exceptions.loads import LoadFailed
from ..loading import load_file
from ..models import Alias, Field, IndexKind, Load, LoadState, Resource


class ResourceForm(forms.ModelForm):
    """A resource and, if there is one to load, a file."""

    file = forms.FileField(
        label=_("CSV file to load"),
        required=False,
        help_text=_(
            "Replaces the records. Readers see the old ones until the new ones are complete; "
            "labels and notes of fields are kept."
        ),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,text/csv"}),
    )

    class Meta:
        model = Resource
        fields = ("title", "name", "description", "private", "language", "indexes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the languages that PostgreSQL knows."""
        super().__init__(*args, **kwargs)
        if "language" in self.fields:
            languages = storage.search_languages(connections[router.db_for_read(Resource)])
            self.fields["language"].widget = forms.Select(choices=[(n, n) for n in languages])
        if "indexes" in self.fields:
            asked = self.fields["indexes"]
            self.fields["indexes"] = forms.MultipleChoiceField(
                label=asked.label,
                help_text=asked.help_text,
                required=False,
                choices=IndexKind.choices,
                widget=forms.CheckboxSelectMultiple,
            )

    def clean_indexes(self) -> list[str] | None:
        """Take no choice for the portal's own."""
        return self.cleaned_data["indexes"] or None

    def clean_file(self) -> UploadedFile | None:
        """Refuse a file that is too large."""
        file: UploadedFile | None = self.cleaned_data["file"]
        if file and file.size and file.size > conf.UPLOAD_MAX_BYTES:
            raise ValidationError(
                gettext("The file is larger than %(most)s. Load it with the command instead.")
                % {"most": filesizeformat(conf.UPLOAD_MAX_BYTES)}
            )
        return file


class FieldInline(admin.TabularInline):
    """The data dictionary: what each field is called and means."""

    model = Field
    fields = ("name", "type", "label", "notes")
    readonly_fields = ("name", "type")
    extra = 0
    can_delete = False
    formfield_overrides = {
        models.TextField: {"widget": forms.Textarea(attrs={"rows": 2, "cols": 40})}
    }

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Let only a load make fields."""
        return False


class AliasInline(admin.TabularInline):
    """Other names of the resource."""

    model = Alias
    fields = ("name",)
    extra = 0


class LoadInline(admin.TabularInline):
    """The loads, the newest first."""

    model = Load
    fk_name = "resource"
    fields = ("started", "source", "shown_state", "rows", "duration", "shown_error")
    readonly_fields = fields
    extra = 0
    can_delete = False
    show_change_link = False

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Let only loading make loads."""
        return False

    @admin.display(description=_("state"))
    def shown_state(self, load: Load) -> str:
        """Show the state in its colour."""
        return _badge(load)

    @admin.display(description=_("error"))
    def shown_error(self, load: Load) -> str:
        """Show why the load failed, in the reader's language."""
        return load.error or "–"

    @admin.display(description=_("seconds"))
    def duration(self, load: Load) -> str:
        """Show how long the load took."""
        if not load.finished:
            return "–"
        return number_format((load.finished - load.started).total_seconds(), decimal_pos=1)


@admin.register(Resource)
class ResourceAdmin(admin.ModelAdmin):
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
    readonly_fields = ("id", "api_address", "shown_key", "created", "modified")
    save_on_top = True

    class Media:
        css = {"all": ("datastore_search/admin.css",)}

    def get_fieldsets(self, request: HttpRequest, obj: Resource | None = None) -> Any:
        """Show what a resource has only once it exists."""
        about = (None, {"fields": ["title", "name", "description", "private", "language"]})
        indexes = (_("Indexes"), {"fields": ["indexes"], "classes": ["collapse"]})
        load = (_("Load a file"), {"fields": ["file"]})
        known = (
            _("Address"),
            {"fields": ["id", "api_address", "shown_key", "created", "modified"]},
        )
        return [about, load, indexes, known] if obj else [about, load, indexes]

    def get_inlines(
        self, request: HttpRequest, obj: Resource | None
    ) -> list[type[admin.options.InlineModelAdmin]]:
        """Show fields and loads only once there can be some."""
        return [AliasInline, FieldInline, LoadInline] if obj else [AliasInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Resource]:
        """Read the loads of all shown resources at once."""
        return super().get_queryset(request).prefetch_related("loads")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Measure the tables of all shown resources in one query."""
        changelist = super().get_changelist_instance(request)
        resources = cast("Iterable[Resource]", changelist.result_list)
        loads = [r.current_load_id for r in resources if r.current_load_id]
        sizes = storage.record_bytes(connections[router.db_for_read(Load)], loads)
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
        return number_format(load.rows, force_grouping=True) if load else "–"

    @admin.display(description=_("size"))
    def size(self, resource: Resource) -> str:
        """Show the size of the table with its indexes."""
        table_bytes = getattr(resource, "table_bytes", None)
        return filesizeformat(table_bytes) if table_bytes else "–"

    @admin.display(description=_("state"))
    def shown_state(self, resource: Resource) -> str:
        """Show the state of the last load."""
        loads = list(resource.loads.all())
        return _badge(loads[0]) if loads else gettext("not loaded yet")

    @admin.display(description=_("last load"))
    def last_load(self, resource: Resource) -> Any:
        """Show when the last load began."""
        loads = list(resource.loads.all())
        return loads[0].started if loads else None

    @admin.display(description=_("API"))
    def api_address(self, resource: Resource) -> str:
        """Show the address to ask, ready to be followed."""
        try:
            path = reverse("datastore_search:action", args=["datastore_search"])
        except NoReverseMatch:
            return "–"
        address = f"{path}?resource_id={resource.pk}&limit=5"
        return format_html('<a href="{0}">{0}</a>', address)

    @admin.display(description=_("primary key"))
    def shown_key(self, resource: Resource) -> str:
        """Show the fields that tell the records apart, if there are any."""
        return ", ".join(resource.primary_key) or "–"

    def view_on_site(self, resource: Resource) -> str | None:
        """Lead to the data page, once there is something on it and if the portal has the pages."""
        if not resource.current_load_id:
            return None
        try:
            return reverse("datastore_search:resource", args=[resource.pk])
        except NoReverseMatch:
            return None

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Sequence[Any], change: bool
    ) -> None:
        """Load the file once everything else is saved."""
        super().save_related(request, form, formsets, change)
        file: UploadedFile | None = form.cleaned_data.get("file")
        if file:
            self._load(request, form.instance, file)

    def _load(self, request: HttpRequest, resource: Resource, file: UploadedFile) -> None:
        with tempfile.TemporaryDirectory(prefix="datastore_search_") as folder:
            path = Path(folder) / "upload"
            with path.open("wb") as target:
                for chunk in file.chunks():
                    target.write(chunk)
            try:
                load = load_file(resource, path, source=file.name or "upload")
            except LoadFailed as error:
                messages.error(
                    request,
                    gettext("The file was not loaded; the records are as they were. %(reason)s")
                    % {"reason": error},
                )
            else:
                messages.success(
                    request,
                    gettext("The file was loaded: %(rows)s records.")
                    % {"rows": number_format(load.rows, force_grouping=True)},
                )


def _badge(load: Load) -> str:
    tone = {LoadState.READY: "good", LoadState.FAILED: "bad"}.get(LoadState(load.state), "busy")
    return format_html(
        '<span class="datastore-badge datastore-badge-{}">{}</span>',
        tone,
        load.get_state_display(),
    )

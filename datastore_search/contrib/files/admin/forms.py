"""The forms of loading: the type of a field, a file and its options, a preview."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ....messages.bidi import show_bidi_controls
from ....messages.requests import UploadTooLarge
from ....models import Field, Resource
from ..conf import conf
from ..formats.cell_ranges import CellRange
from ..formats.header_rows import MAX_HEADER_ROWS
from ..formats.options import SKIP_FOOTER
from ..jobs import BadRowsChoice, LoadOptions
from ..messages.failures import LoadFailed
from ..models import Mode
from ..sources.addresses import parse_address
from ..types.month_names import list_month_languages
from ..types.schema import parse_table_schema
from .uploads import MAX_SCHEMA_BYTES
from .widgets import LinesField, PlainSelect, list_type_choices


def _make_type_field(label: Any, selected: str) -> forms.ChoiceField:
    choices = list_type_choices(selected)
    return forms.ChoiceField(
        label=label, choices=choices, required=False, initial=selected, widget=PlainSelect
    )


class LoadedFieldForm(forms.ModelForm):
    """The data dictionary of a field, and the type that the next load gives it."""

    class Meta:
        model = Field
        fields = ("chosen_type", "label", "notes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer all field types."""
        super().__init__(*args, **kwargs)
        if "chosen_type" in self.fields:
            label = self.fields["chosen_type"].label
            self.fields["chosen_type"] = _make_type_field(label, self.instance.chosen_type)


_Choices = list[tuple[str, str | Promise]]

_DELIMITERS: _Choices = [
    ("", _("as in the file")),
    (",", _("comma")),
    (";", _("semicolon")),
    ("\t", _("tab")),
    ("|", _("vertical bar")),
    (" ", _("space")),
]

#: The offered encodings; a command or a program may choose any of Python's.
_ENCODINGS = (
    "utf-8", "utf-16", "windows-1252", "windows-1250", "windows-1251", "windows-1256",
    "windows-1258", "iso-8859-1", "iso-8859-15", "shift_jis", "gb18030", "big5",
    "euc-kr",
)  # fmt: skip

_BAD_ROWS: _Choices = [
    (BadRowsChoice.REFUSE.value, _("refuse the file: nothing changes, and the report lists them")),
    (BadRowsChoice.SKIP.value, _("leave them out and load the rest; the report lists them")),
]

_DATE_ORDERS: _Choices = [
    ("", _("neither: the field stays text")),
    ("dmy", _("day first: 03/04/2025 is 3 April")),
    ("mdy", _("month first: 03/04/2025 is 4 March")),
    ("dmyy", _("day first, also years of two digits: 03/04/69 is 3 April 1969, 68 is 2068")),
    ("mdyy", _("month first, also years of two digits: 03/04/69 is 4 March 1969, 68 is 2068")),
    ("yymd", _("year first, also years of two digits: 69/04/03 is 3 April 1969, 68 is 2068")),
]


#: What becomes of notes below a table.
_FOOTERS = [("", _("Load them")), (SKIP_FOOTER, _("Leave them out"))]


#: The number of rows of a header.
_HEADER_ROWS: _Choices = [
    ("", _("One")),
    *((str(count), str(count)) for count in range(1, MAX_HEADER_ROWS + 1)),
]


class PreviewForm(forms.Form):
    """The choices after a preview: types of fields, bad rows, fields that may disappear."""

    bad_rows = forms.ChoiceField(
        label=_("Rows that cannot be loaded"),
        choices=_BAD_ROWS,
        error_messages={"required": _("Choose what to do with these rows.")},
        widget=forms.RadioSelect,
    )
    drop_missing_fields = forms.BooleanField(label=_("Fields may disappear"), required=False)
    #: The preview that the form was sent from (``DraftPreview.digest``).
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        options: LoadOptions,
        names: Iterable[str],
        *args: Any,
        has_bad_rows: bool = False,
        rows: slice = slice(None),
        **kwargs: Any,
    ) -> None:
        """
        Add a choice of type for each field of the file, or for those in ``rows``.

        With bad rows, no choice is made beforehand that refuses the file; it is needed to load.
        """
        super().__init__(*args, **kwargs)
        must_choose = has_bad_rows and options.should_refuse_bad_rows
        self.initial = {
            "bad_rows": None if must_choose else options.bad_rows,
            "drop_missing_fields": options.drop_missing_fields,
        }
        self.fields["bad_rows"].required = "load" in self.data
        self.options, self.names = options, tuple(names)
        self.shown = [*enumerate(self.names)][rows]
        for position, name in self.shown:
            selected = options.types.get(name) or options.saved_types.get(name, "")
            label = show_bidi_controls(name)
            field = _make_type_field(label, selected)
            field.widget.attrs["aria-label"] = label
            self.fields[f"type_{position}"] = field

    def build_options(self) -> LoadOptions:
        """Build the options of the load from a valid form; fields without an input keep theirs."""
        kept = {name: self.options.types.get(name, "") for name in self.names}
        chosen = {name: self.cleaned_data[f"type_{position}"] for position, name in self.shown}
        types = {**kept, **chosen}
        return replace(
            self.options,
            types={name: form for name, form in types.items() if form},
            saved_types={
                name: form for name, form in self.options.saved_types.items() if name not in chosen
            },
            bad_rows=self.cleaned_data["bad_rows"] or self.options.bad_rows,
            drop_missing_fields=self.cleaned_data["drop_missing_fields"],
        )


def _make_validator(check: Callable[[Any], object]) -> Callable[[Any], None]:
    """Make a validator of what raises ``LoadFailed``."""

    def validate(value: Any) -> None:
        try:
            check(value)
        except LoadFailed as error:
            raise ValidationError(str(error)) from error

    return validate


class LoadForm(forms.Form):
    """A file or its address, and how it is read: every option of ``LoadOptions``."""

    file = forms.FileField(
        label=_("File"),
        required=False,
        help_text=_(
            "CSV, TSV, XLSX, XLS, ODS, JSON, NDJSON, GeoJSON, KML, GPX, GeoPackage or Parquet, "
            "also packed as gzip or zip; a shapefile as a zip."
        ),
        widget=forms.FileInput,
    )
    url = forms.CharField(
        label=_("Or its address"),
        required=False,
        help_text=_("http or https. The server fetches the file."),
        validators=[_make_validator(parse_address)],
        widget=AdminTextInputWidget(attrs={"inputmode": "url", "class": "vTextField"}),
    )
    mode = forms.ChoiceField(
        label=_("What happens to the records"), choices=Mode.choices, widget=forms.RadioSelect
    )
    key = LinesField(
        label=_("Fields of the key"),
        help_text=_("Names of fields that identify a record, one per line. Updates need them."),
    )
    bad_rows = forms.ChoiceField(
        label=_("Rows that cannot be loaded"), choices=_BAD_ROWS, widget=forms.RadioSelect
    )
    nulls = LinesField(
        label=_("Texts that mean “no value”"),
        help_text=_("Such as NA or -, one per line. Empty cells never have a value."),
    )
    date_order = forms.ChoiceField(
        label=_("Dates that can be read both ways"), choices=_DATE_ORDERS, required=False
    )
    date_language = forms.ChoiceField(
        label=_("Language of months"),
        choices=lambda: [("", _("none: dates have digits only")), *list_month_languages().items()],
        required=False,
    )
    encoding = forms.ChoiceField(
        label=_("Character encoding"),
        choices=[("", _("as in the file")), *((name, name) for name in _ENCODINGS)],
        required=False,
    )
    delimiter = forms.ChoiceField(
        label=_("Delimiter of cells"), choices=_DELIMITERS, required=False
    )
    skip = forms.IntegerField(
        label=_("Lines above the header"),
        required=False,
        min_value=0,
        help_text=_("Lines or rows to skip. Empty: detected automatically."),
    )
    header_rows = forms.TypedChoiceField(
        label=_("Header rows"),
        choices=_HEADER_ROWS,
        coerce=int,
        empty_value=None,
        required=False,
        help_text=_("The names of several rows are joined, as in “2025 | Budget”."),
    )
    sheet = forms.CharField(
        label=_("Sheet or layer"),
        required=False,
        help_text=_(
            "The name of a sheet, or of a layer of a GeoPackage, or its number from 1. Empty: the "
            "first sheet with content, or the only layer."
        ),
    )
    cell_range = forms.CharField(
        label=_("Cells of the table"),
        required=False,
        help_text=_("Such as A1:D20, or A1:D for all rows below. Empty: the whole sheet."),
        validators=[_make_validator(CellRange.parse)],
    )
    member = forms.CharField(
        label=_("File in the archive"),
        required=False,
        help_text=_("Needed where an archive holds several files."),
    )
    footer = forms.ChoiceField(
        label=_("Notes and totals below the table"), choices=_FOOTERS, required=False
    )
    records_path = forms.CharField(
        label=_("Records in JSON"),
        required=False,
        help_text=_("The path to the records, such as data.items. Empty: detected automatically."),
    )
    schema = forms.FileField(
        label=_("Table Schema"),
        required=False,
        help_text=_(
            "A Frictionless Table Schema as JSON: types, titles, descriptions, missing values, key."
        ),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )
    no_schema = forms.BooleanField(label=_("Delete the stored Table Schema"), required=False)
    force = forms.BooleanField(
        label=_("Load the file even if it is the same as the last one"), required=False
    )

    def __init__(
        self,
        resource: Resource,
        options: LoadOptions,
        *args: Any,
        has_file: bool = False,
        **kwargs: Any,
    ) -> None:
        """Begin with the given options; a draft that ``has_file`` needs no other."""
        self.options, self.has_file = options, has_file
        super().__init__(*args, **kwargs)
        self.initial = {name: getattr(options, name) for name in _OPTION_NAMES - {"schema"}}
        if options.key is None:
            self.initial["key"] = resource.primary_key
        for name in ("delimiter", "encoding"):
            field = cast("forms.ChoiceField", self.fields[name])
            usual = list(cast("Iterable[tuple[str, Any]]", field.choices))
            value = getattr(options, name)
            if value and value not in dict(usual):
                field.choices = [*usual, (value, value)]
        if not options.schema:
            del self.fields["no_schema"]

    @property
    def fieldsets(self) -> list[tuple[Any, dict[str, Any]]]:
        """The groups of fields; the options are collapsed while none is chosen or wrong."""
        about = ["file", "url", "mode", "key"]
        options = [name for name in self.fields if name not in about]
        plain = LoadOptions()
        chosen = any(
            getattr(self.options, name, None) != getattr(plain, name)
            for name in _OPTION_NAMES - {"mode"}
        )
        closed = [] if chosen or self.errors else ["collapse"]
        return [(None, {"fields": about}), (_("Options"), {"fields": options, "classes": closed})]

    def clean_file(self) -> UploadedFile | None:
        """Refuse a file above ``MAX_UPLOAD_BYTES``."""
        file: UploadedFile | None = self.cleaned_data["file"]
        if file and file.size and file.size > conf.MAX_UPLOAD_BYTES:
            max_size = filesizeformat(conf.MAX_UPLOAD_BYTES)
            raise ValidationError(str(UploadTooLarge(most=max_size)))
        return file

    def clean_schema(self) -> Mapping[str, Any] | None:
        """Read and check the Table Schema."""
        file: UploadedFile | None = self.cleaned_data["schema"]
        if not file:
            return self.options.schema
        try:
            schema = json.loads(file.read(MAX_SCHEMA_BYTES + 1)[:MAX_SCHEMA_BYTES])
        except ValueError as error:
            raise ValidationError(gettext("The Table Schema is not JSON.")) from error
        _make_validator(parse_table_schema)(schema)
        return cast(Mapping[str, Any], schema)

    def clean(self) -> dict[str, Any]:
        """Require either a file or an address."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        given = [data.get("file"), data.get("url")]
        if all(given):
            raise ValidationError(gettext("Give a file or an address, not both."))
        if not any(given) and not self.has_file and not {"file", "url"} & self.errors.keys():
            raise ValidationError(gettext("Give a file, or the address of one."))
        return data

    def build_options(self) -> LoadOptions:
        """Build the options from a valid form; they replace the stored options of the resource."""
        values = {name: value for name, value in self.cleaned_data.items() if name in _OPTION_NAMES}
        if "key" not in self.changed_data:
            values["key"] = self.options.key
        if self.cleaned_data.get("no_schema"):
            values["schema"] = None
        return replace(self.options, **values, ignore_saved=True)


#: The fields of the form that are options of a load.
_OPTION_NAMES = {*LoadForm.base_fields} - {"file", "url", "no_schema"}

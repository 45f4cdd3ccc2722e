"""The forms of loading: the type of a field, a file and its options, a preview."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any, cast

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.forms.utils import flatatt
from django.template.defaultfilters import filesizeformat
from django.utils.functional import lazy
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import format_lazy
from django.utils.translation import get_language, gettext, gettext_lazy as _

from ....admin.forms import FieldForm
from ....field_types import field_types
from ....messages.texts import show_bidi_controls
from ....models import Field, Resource
from ..conf import conf
from ..formats import list_formats
from ..formats.options import Kind, Option
from ..messages import LoadFailed, UnknownType, UploadTooLarge
from ..sources.fetching import parse_address
from ..types.field_formats import OFFERED_FORMATS, field_formats, parse_field_format
from ..types.options import LoadOptions, load_options
from ..types.schema import parse_table_schema, read_table_schema

MAX_SCHEMA_BYTES = 2**20

# Inputs -------------------------------------------------------------------------------------------

#: The formats that are offered first; the others stand below them, with their names.
_FIRST_TYPES = [
    f"{kind.name}:{each}".rstrip(":")
    for kind in sorted(field_types.values(), key=attrgetter("is_text"), reverse=True)
    for each in kind.common_formats
]
_OTHER_TYPES = [each for each in (*field_formats, *OFFERED_FORMATS) if each not in _FIRST_TYPES]


def describe_type(name: str) -> str:
    """Describe a format in words, with an example of a number or a date; unknown ones by name."""
    try:
        found = parse_field_format(name)
    except UnknownType:
        return name
    label = str(found.field_type.label)
    return f"{label} · {found.example}" if found.example else label


@cache
def _list_type_choices(_language: str | None) -> list[tuple[str, Any]]:
    """List the field types in the active language; cached, since a page has up to 400 lists."""
    return [
        ("", gettext("as in the file")),
        *((each, describe_type(each)) for each in _FIRST_TYPES),
        (gettext("More"), [(each, f"{describe_type(each)} ({each})") for each in _OTHER_TYPES]),
    ]


class PlainSelect(forms.Select):
    """A select without a template, which is faster: a preview has up to 400."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        attributes = flatatt({**self.build_attrs(self.attrs, attrs), "name": name})
        options = _render_options(self.choices, value or "")
        return format_html("<select{}>{}</select>", attributes, options)


def _render_options(choices: Iterable[tuple[str, Any]], value: str) -> SafeString:
    """Render the options of a select; a choice with a list is a group."""
    html = '<option value="{}"{}>{}</option>'
    options = (
        format_html('<optgroup label="{}">{}</optgroup>', name, _render_options(label, value))
        if isinstance(label, list)
        else format_html(html, name, mark_safe(" selected") if name == value else "", label)
        for name, label in choices
    )
    return SafeString("".join(options))


class LinesField(forms.CharField):
    """Texts, one in each line, with their blanks."""

    widget = AdminTextareaWidget(attrs={"rows": 3, "cols": 40})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        return tuple(line for line in (value or "").splitlines() if line)

    def run_validators(self, value: Any) -> None:
        super().run_validators("\n".join(value))  # a tuple's own text has NUL escaped

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the texts, whether they are a list or lines."""
        return bool(tuple(initial or ()) != self.to_python(data))


def _make_type_field(label: Any, selected: str) -> forms.ChoiceField:
    choices = _list_type_choices(get_language())
    if selected not in ("", *_FIRST_TYPES, *_OTHER_TYPES):
        choices = [choices[0], (selected, describe_type(selected)), *choices[1:]]
    return forms.ChoiceField(
        label=label, choices=choices, required=False, initial=selected, widget=PlainSelect
    )


class LoadedFieldForm(FieldForm):
    """The data dictionary of a field, and the type that the next load gives it."""

    class Meta:
        model = Field
        fields = ("chosen_type", "label", "notes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "chosen_type" in self.fields:
            label = self.fields["chosen_type"].label
            self.fields["chosen_type"] = _make_type_field(label, self.instance.chosen_type)


def _make_validator(check: Callable[[Any], object]) -> Callable[[Any], None]:
    """Make a validator of what raises ``LoadFailed``."""

    def validate(value: Any) -> None:
        try:
            check(value)
        except LoadFailed as error:
            raise ValidationError(str(error)) from error

    return validate


def build_input(option: Option, value: Any = None) -> forms.Field:
    """Build the input of an option, which offers a value that is none of its open choices, too."""
    is_of_lines = option.kind is Kind.TEXTS
    text = format_lazy("{} {}", option.help, _("One per line.")) if is_of_lines else option.help
    # Django shows the help of a field as HTML.
    given: dict[str, Any] = {"label": option.label, "help_text": escape(text), "required": False}
    if is_of_lines:
        return LinesField(**given, strip=False)
    if option.kind is Kind.FLAG:
        return forms.BooleanField(**given)
    if option.kind is Kind.JSON:
        given["widget"] = forms.FileInput(attrs={"accept": ".json,application/json"})
        return forms.FileField(**given)
    if option.choices:
        choices = dict(option.choices)
        if option.is_open and value:
            choices.setdefault(value, value)
        more = {} if "" in choices else {"required": True, "widget": forms.RadioSelect}
        return forms.ChoiceField(**given | {"choices": [*choices.items()]} | more)
    if option.kind is Kind.NUMBER:
        return forms.IntegerField(**given, min_value=0)
    validators = [_make_validator(option.check)] if option.check else []
    return forms.CharField(**given, validators=validators)


#: The options that the forms ask for; the types of fields have inputs of their own.
_UPLOAD_OPTIONS = [name for name, option in load_options.items() if option.is_in_upload]
_PREVIEW_OPTIONS = [name for name, option in load_options.items() if option.is_in_preview]


class PreviewForm(forms.Form):
    """The choices after a preview: types of fields, bad rows, fields that may disappear."""

    #: The preview that the form was sent from (``digest`` of ``build_preview_context``).
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

        With bad rows, no choice is made that refuses the file; loading with these types needs one.
        """
        super().__init__(*args, **kwargs)
        for option_name in _PREVIEW_OPTIONS:
            self.fields[option_name] = build_input(load_options[option_name])
            self.initial[option_name] = getattr(options, option_name)
        if has_bad_rows and options.should_refuse_bad_rows:
            self.initial["bad_rows"] = None
        self.fields["bad_rows"].error_messages["required"] = _("Choose what to do with these rows.")
        self.options, self.names = options, tuple(names)
        self.shown = [*enumerate(self.names)][rows]
        for position, name in self.shown:
            selected = options.types.get(name) or options.saved_types.get(name, "")
            label = show_bidi_controls(name)
            field = _make_type_field(label, selected)
            field.widget.attrs["aria-label"] = label
            self.fields[f"type_{position}"] = field
        is_retyped = any(name.startswith("type_") for name in self.changed_data)
        self.fields["bad_rows"].required = "load" in self.data and not is_retyped

    def build_options(self) -> LoadOptions:
        """Build the options of the load from a valid form; fields without an input keep theirs."""
        kept = {name: self.options.types.get(name) for name in self.names}
        chosen = {name: self.cleaned_data[f"type_{position}"] for position, name in self.shown}
        types = {name: form for name, form in {**kept, **chosen}.items() if form}
        saved = {
            name: form for name, form in self.options.saved_types.items() if name not in chosen
        }
        answers = {name: self.cleaned_data[name] for name in _PREVIEW_OPTIONS}
        given = {name: answer for name, answer in answers.items() if answer != ""}
        return replace(self.options, types=types, saved_types=saved, **given)


class LoadForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        required=False,
        help_text=format_lazy(
            _("{formats}, also packed as gzip or zip; a shapefile as a zip."),
            # Apps add theirs later.
            formats=lazy(
                lambda: ", ".join(each.name for each in reversed(list_formats()) if each.read), str
            )(),
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
        for name in _UPLOAD_OPTIONS:
            option, value = load_options[name], getattr(options, name)
            self.fields[name] = build_input(option, value)
            if option.kind is not Kind.JSON:
                self.initial[name] = value
        if options.key is None:
            self.initial["key"] = resource.primary_key
        if options.schema:
            self.fields["no_schema"] = forms.BooleanField(
                label=_("Delete the stored Table Schema"), required=False
            )

    @property
    def fieldsets(self) -> list[tuple[Any, dict[str, Any]]]:
        """The groups of fields; the options are collapsed unless one is wrong."""
        about = ["file", "url", "mode", "key"]
        options = [name for name in self.fields if name not in about]
        more = {"fields": options, "classes": [] if self.errors else ["collapse"]}
        return [(None, {"fields": about}), (_("More options"), more)]

    def clean_file(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data["file"]
        if file and file.size and file.size > conf.MAX_UPLOAD_BYTES:
            raise ValidationError(str(UploadTooLarge(most=filesizeformat(conf.MAX_UPLOAD_BYTES))))
        return file

    def clean_schema(self) -> Mapping[str, Any] | None:
        file: UploadedFile | None = self.cleaned_data["schema"]
        if not file:
            return self.options.schema
        try:
            schema = read_table_schema(file.read(MAX_SCHEMA_BYTES))
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
        values = {name: self.cleaned_data[name] for name in _UPLOAD_OPTIONS}
        if "key" not in self.changed_data:
            values["key"] = self.options.key
        if self.cleaned_data.get("no_schema"):
            values["schema"] = None
        return replace(self.options, **values, ignore_saved=True)

"""
The forms of the admin: none saves over a change that was made since it was opened.

Django limits the inputs of one form (``DATA_UPLOAD_MAX_NUMBER_FIELDS``), so the fields of a wide
resource are split over several.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.conf import settings
from django.conf.locale import LANG_INFO
from django.core.paginator import Page, Paginator
from django.db import connections, router
from django.forms.formsets import ManagementForm
from django.http import HttpRequest, QueryDict
from django.template.defaultfilters import yesno
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy as _
from django.utils.translation.trans_real import get_languages

from ..database.server import list_search_languages
from ..database.tables import WEIGHTS
from ..messages.texts import show_bidi_controls
from ..models import Field, IndexKind, Resource
from ..web.languages import get_own_name

#: The hidden input with the digest of the values that were stored when a form was opened.
OPENED = "opened_version"

_CHANGED = _(
    "Someone has changed this since you opened the form, so your changes were not saved. Where the"
    " stored values differ, they are shown. Save again to replace them."
)


class _VersionField(forms.CharField):
    """The version of a form; a form that is sent without it was not opened in a page."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        return data is not None and data != initial


class VersionedForm(forms.Form):
    """A form of stored values, whose row is locked while it is checked."""

    opened_version = _VersionField(required=False)

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        if field_name != OPENED:
            return super().get_initial_for_field(field, field_name)
        others = [(name, each) for name, each in self.fields.items() if name != OPENED]
        return _digest([(name, self.get_initial_for_field(each, name)) for name, each in others])

    def clean(self) -> Any:
        cleaned = super().clean()
        _refuse_old_version(self, [self])
        return cleaned


class VersionedFormSet(forms.BaseInlineFormSet):
    """Forms of stored rows, whose resource is locked while they are checked."""

    @cached_property
    def management_form(self) -> ManagementForm:
        form = super().management_form
        names = list(self.form.base_fields)
        rows = [[str(getattr(row, each)) for each in names] for row in self.get_queryset()]
        form.fields[OPENED] = _VersionField(required=False, initial=_digest(rows))
        return form

    def clean(self) -> None:
        super().clean()
        _refuse_old_version(self.management_form, self.initial_forms)


def _digest(values: Any) -> str:
    text = json.dumps(values, default=str)
    return salted_hmac(__name__, text, algorithm="sha256").hexdigest()


def _refuse_old_version(form: forms.BaseForm, shown: Sequence[forms.BaseForm]) -> None:
    """
    Refuse a form whose version is no longer stored, and show where inputs are not what is stored.

    Raises: ``ValidationError``.  The next time the form is saved, unless there is one more change.
    """
    opened = form[OPENED]
    if not opened.field.has_changed(opened.initial, opened.data):
        return
    data = cast("QueryDict", form.data).copy()
    data[opened.html_name] = opened.initial
    form.data = data
    for other in shown:
        for name in set(other.changed_data) - {OPENED}:
            value, labels = other[name].initial, dict(getattr(other.fields[name], "choices", ()))
            values = value if isinstance(value, list) else [value]
            filled = [str(labels.get(each, each)) for each in values if each not in ("", None)]
            text = str(yesno(value)) if isinstance(value, bool) else ", ".join(filled)
            shown_value = {"value": show_bidi_controls(text) or "–"}
            other.add_error(name, gettext("Stored now: %(value)s") % shown_value)
    raise forms.ValidationError(_CHANGED)


# Forms of a part of the fields --------------------------------------------------------------------

#: The inputs of a form that are not of fields: texts of the resource, aliases, choices.
_OTHER_INPUTS = 200

#: A form of more fields takes seconds to build, and megabytes.
MAX_FIELDS_PER_PART = 400


def split_fields(request: HttpRequest, count: int, inputs: int) -> Page[int]:
    """Return the fields that a form with ``inputs`` inputs per field shows, by their positions."""
    most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    size = MAX_FIELDS_PER_PART if most is None else (most - _OTHER_INPUTS) // inputs
    size = min(max(size, 1), MAX_FIELDS_PER_PART)
    return Paginator(range(count), size).get_page(request.GET.get("part", 1))


def get_shown_rows(part: Page[int]) -> slice:
    return slice(max(part.start_index() - 1, 0), part.end_index())


#: What is asked of each resource first.
ABOUT = ("title", "name", "description", "private", "language")


class ResourceForm(VersionedForm, forms.ModelForm):
    class Meta:
        model = Resource
        fields = (*ABOUT, "content_language", "indexes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "language" in self.fields:
            languages = list_search_languages(connections[router.db_for_write(Resource)])
            self.fields["language"].widget = forms.Select(choices=[(n, n) for n in languages])
        if "content_language" in self.fields:
            codes = sorted({*LANG_INFO, *get_languages()})  # enabled or not
            choices = [("", "–"), *((code, f"{get_own_name(code)} ({code})") for code in codes)]
            self.fields["content_language"].widget = forms.Select(choices=choices)
        if "indexes" in self.fields:
            declared = self.fields["indexes"]
            self.fields["indexes"] = forms.MultipleChoiceField(
                label=declared.label,
                help_text=declared.help_text,
                required=False,
                choices=IndexKind.choices,
                widget=forms.CheckboxSelectMultiple,
            )

    def clean_indexes(self) -> list[str] | None:
        """Return None, the portal's own indexes, if none is chosen."""
        return self.cleaned_data["indexes"] or None


class FieldForm(forms.ModelForm):
    weight = forms.TypedChoiceField(
        label=_("weight"),
        choices=[(weight, str(weight)) for weight in WEIGHTS],
        coerce=int,
        required=False,
        empty_value=None,
        help_text=_("What its words count in the order of results, from the next load on."),
    )
    is_name = forms.BooleanField(
        label=_("name of records"),
        required=False,
        help_text=_("Its values are the titles of records. Choose one field, or none."),
    )

    class Meta:
        model = Field
        fields = ("label", "notes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.update(weight=self.instance.weight, is_name=self.instance.is_name)

    def clean(self) -> None:
        """Set the members of the data dictionary; a weight that is not sent stays."""
        super().clean()
        for name in ("weight", "is_name"):
            value = self.cleaned_data.get(name)
            if value is not None and value != getattr(self.instance, name):
                self.instance.extra_info = {**self.instance.extra_info, name: value}

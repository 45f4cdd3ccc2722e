"""Forms that do not save over what another person or program has changed since they were opened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.forms.formsets import ManagementForm
from django.http import QueryDict
from django.template.defaultfilters import yesno
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..messages.bidi import show_bidi_controls

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
        """Refuse to save over a newer version, and show both; the next time it may be replaced."""
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
        """Refuse to save over newer rows, and show both; the next time they may be replaced."""
        super().clean()
        _refuse_old_version(self.management_form, self.initial_forms)


def _digest(values: Any) -> str:
    return salted_hmac(__name__, json.dumps(values, default=str)).hexdigest()


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

"""Forms that do not save over what another person or program has changed since they were opened."""

from __future__ import annotations

import json
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
    """The version of a form; one without it was not opened in a page."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the stored values are no longer those of the opened form."""
        return data is not None and data != initial


class VersionedForm(forms.Form):
    """A form of stored values, whose row is locked while it is checked."""

    opened_version = _VersionField(required=False)

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        """Compute the version of the stored values."""
        if field_name != OPENED:
            return super().get_initial_for_field(field, field_name)
        others = [(name, each) for name, each in self.fields.items() if name != OPENED]
        return _digest([(name, self.get_initial_for_field(each, name)) for name, each in others])

    def clean(self) -> Any:
        """Refuse to save over a newer version, and show both; the next time it may be replaced."""
        cleaned = super().clean()
        if OPENED in self.changed_data:
            _accept_stored_version(self)
            _show_stored_values(self)
            self.add_error(None, _CHANGED)
        return cleaned


class VersionedFormSet(forms.BaseInlineFormSet):
    """Forms of stored rows, whose resource is locked while they are checked."""

    @cached_property
    def management_form(self) -> ManagementForm:
        """Add the version of all rows."""
        form = super().management_form
        names = list(self.form.base_fields)
        rows = [[str(getattr(row, each)) for each in names] for row in self.get_queryset()]
        form.fields[OPENED] = _VersionField(required=False, initial=_digest(rows))
        return form

    def clean(self) -> None:
        """Refuse to save over newer rows, and show both; the next time they may be replaced."""
        super().clean()
        form = self.management_form
        opened = form[OPENED]
        if opened.field.has_changed(opened.initial, opened.data):
            _accept_stored_version(form)
            for row in self.initial_forms:
                _show_stored_values(row)
            raise forms.ValidationError(_CHANGED)


def _digest(values: Any) -> str:
    return salted_hmac(__name__, json.dumps(values, default=str)).hexdigest()


def _accept_stored_version(form: forms.BaseForm) -> None:
    """Let the form be saved the next time, unless there is one more change."""
    data = cast("QueryDict", form.data).copy()
    data[form[OPENED].html_name] = form[OPENED].initial
    form.data = data


def _show_stored_values(form: forms.BaseForm) -> None:
    """Add an error to each field whose input is not what is stored."""
    for name in set(form.changed_data) - {OPENED}:
        field, value = form.fields[name], form[name].initial
        labels = dict(getattr(field, "choices", ()))
        values = value if isinstance(value, list) else [value]
        shown = ", ".join(str(labels.get(each, each)) for each in values if each not in ("", None))
        text = yesno(value) if isinstance(value, bool) else show_bidi_controls(shown) or "–"
        form.add_error(name, gettext("Stored now: %(value)s") % {"value": text})

"""Inputs of the forms: types to choose from, suggestions, texts in lines."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from ..loading.typing.field_formats import field_formats as types


def types_to_choose(kept: str = "") -> list[tuple[str, str]]:
    """List the types and their notations, as people choose them, after the choice of none."""
    known = _types_in(get_language())
    return known if kept in dict(known) else [*known, (kept, kept)]


@cache
def _types_in(language: str | None) -> list[tuple[str, str]]:
    """List the types in a language, the active one, once: a page may have 1,600 such lists."""
    return [
        ("", gettext("as the file shows")),
        *((name, str(form.title)) for name, form in types.items()),
    ]


class PlainSelect(forms.Select):
    """A select that is written without a template: a preview has one for each of 1,600 fields."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Write the select."""
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            (
                (choice, mark_safe(" selected") if choice == (value or "") else "", label)
                for choice, label in self.choices
            ),
        )
        attributes = flatatt({**self.build_attrs(self.attrs, attrs), "name": name})
        return format_html("<select{}>{}</select>", attributes, options)


class Suggesting(AdminTextInputWidget):
    """A line of text for which the browser suggests some."""

    template_name = "datastore_search/admin/_suggest_input.html"

    def __init__(self, suggested: Iterable[str], attrs: dict[str, Any] | None = None) -> None:
        """Take the texts to suggest."""
        super().__init__(attrs)
        self.suggested = tuple(suggested)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Add the list of suggestions, to which the input points."""
        context = super().get_context(name, value, attrs)
        listed = f"{context['widget']['attrs'].get('id', name)}_suggested"
        context["widget"]["attrs"]["list"] = listed
        return {**context, "listed": listed, "suggested": self.suggested}


class Lines(forms.CharField):
    """Texts, one in each line; what is a line's own is kept as it is."""

    widget = AdminTextareaWidget(attrs={"rows": 3, "cols": 40})

    def __init__(self, **kwargs: Any) -> None:
        """Need no text, and keep blanks."""
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Write the texts in lines."""
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        """Read the lines that have any text."""
        return tuple(line for line in (value or "").splitlines() if line)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the texts, however they are kept."""
        return bool(tuple(initial or ()) != self.to_python(data))

"""The widgets and choices of the forms: field types, texts in lines."""

from __future__ import annotations

from functools import cache
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from ..types.chosen_formats import OFFERED_FORMATS, parse_field_format
from ..types.field_formats import DAY_ORDERS
from ..types.field_formats import field_formats as types
from ..types.month_names import find_month_names


def list_type_choices(selected: str = "") -> list[tuple[str, str]]:
    """List the field types after the choice of none, with the selected one if it is unknown."""
    known = _list_type_choices_in(get_language())
    return known if selected in dict(known) else [*known, (selected, selected)]


@cache
def _list_type_choices_in(language: str | None) -> list[tuple[str, str]]:
    """List the field types in the active language; cached, since a page has up to 400 lists."""
    names = find_month_names(language or "")
    with_months = [f"date:{order},{language}" for order in DAY_ORDERS if names]
    chosen = (parse_field_format(name) for name in (*OFFERED_FORMATS, *with_months))
    return [
        ("", gettext("as in the file")),
        *((each.name, str(each.title)) for each in (*types.values(), *chosen)),
    ]


class PlainSelect(forms.Select):
    """A select without a template, which is faster: a preview has up to 400."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Render the select."""
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


class LinesField(forms.CharField):
    """Texts, one in each line, with their blanks."""

    widget = AdminTextareaWidget(attrs={"rows": 3, "cols": 40})

    def __init__(self, **kwargs: Any) -> None:
        """Do not strip blanks."""
        super().__init__(strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Write each text on a line."""
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        """Read the lines that are not empty."""
        return tuple(line for line in (value or "").splitlines() if line)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the texts, whether they are a list or lines."""
        return bool(tuple(initial or ()) != self.to_python(data))

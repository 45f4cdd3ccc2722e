"""Descriptions as HTML."""

from __future__ import annotations

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_CODE = '<code dir="ltr">{}</code>'


def render_code_spans(text: str) -> SafeString:
    """Render a text in which code is between backticks; everything else is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is a letter
        parts[-2:] = ["`".join(parts[-2:])]
    return format_html_join(
        "", "{}", ((format_html(_CODE, part) if n % 2 else part,) for n, part in enumerate(parts))
    )

"""``{{ language|language_attributes }}``: the language of a text that is not the page's."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_info

register = template.Library()


@register.filter
def language_attributes(language: str) -> SafeString:
    """Write ``lang`` and ``dir`` for a text; nothing in the page's language, or an unknown one."""
    if not language or language == get_language():
        return SafeString("")
    try:
        is_rtl = get_language_info(language)["bidi"]
    except KeyError:  # a language of the portal that Django does not know
        return format_html(' lang="{}"', language)
    return format_html(' lang="{}" dir="{}"', language, "rtl" if is_rtl else "ltr")

"""Descriptions in Markdown as HTML: no HTML of their own, no pictures, no headings."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from django.utils.html import linebreaks
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from ...messages.bidi import show_bidi_controls


def render_markdown(text: str, max_length: int) -> SafeString:
    """Render the first letters of a text; without markdown-it-py, its lines as they are."""
    shown = show_bidi_controls(Truncator(text).chars(max_length))
    if find_spec("markdown_it") is None:
        return SafeString(linebreaks(shown, autoescape=True))
    return SafeString(_build_renderer().render(shown))


@cache
def _build_renderer() -> Any:
    """Build the renderer, which escapes HTML and refuses addresses that run a script."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - optional

    renderer: Any = MarkdownIt("commonmark", {"html": False, "breaks": True})
    renderer.disable(["image", "heading", "lheading", "hr", "code"])

    def open_link(tokens: Any, index: int, options: Any, environment: Any) -> str:
        tokens[index].attrSet("rel", "nofollow noopener")
        return str(renderer.renderer.renderToken(tokens, index, options, environment))

    renderer.renderer.rules["link_open"] = open_link
    return renderer

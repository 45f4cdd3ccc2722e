"""Messages for people: a sentence and its parameters, rendered in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise

from .bidi import show_bidi_controls

#: Characters of a parameter that a message repeats.
_MAX_SHOWN_LENGTH = 300


def render_message(template: str | Promise, parameters: Mapping[str, object]) -> str:
    """
    Render a template in the active language, with the invisible controls of its values shown.

    What cannot be written becomes “�”.
    """
    shown = {
        name: show_bidi_controls(shorten(str(value), _MAX_SHOWN_LENGTH))
        for name, value in parameters.items()
    }
    text = str(template) % shown
    return text.encode(errors="replace").decode().replace("\0", "�")


def shorten(text: str, max_length: int) -> str:
    """Cut a text after ``max_length`` letters, and mark the cut."""
    return text if len(text) <= max_length else f"{text[:max_length]}…"

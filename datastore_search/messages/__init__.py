"""
What the app says to people: errors and their messages, rendered in the reader's language.

An exception names its condition in its class, and carries values as attributes.  Its message is
translated when it is read, not when it is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.functional import Promise

from .texts import shorten

#: Characters of a parameter that a message repeats.
_MAX_SHOWN_LENGTH = 300


def render_message(template: str | Promise, parameters: Mapping[str, object]) -> str:
    """
    Render a template in the active language, with the invisible controls of its values shown.

    What cannot be written becomes “�”.
    """
    shown = {name: shorten(str(value), _MAX_SHOWN_LENGTH) for name, value in parameters.items()}
    text = str(template) % shown
    return text.encode(errors="replace").decode().replace("\0", "�")


class DatastoreError(Exception):
    """The root of the tree; ``message`` names its values as ``%(name)s``."""

    message: ClassVar[str | Promise]

    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.values = values

    def __str__(self) -> str:
        return render_message(self.message, self.values)

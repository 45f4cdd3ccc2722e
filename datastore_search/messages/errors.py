"""
The exceptions that the app anticipates, by concept.

An exception names its condition in its class, and carries values as attributes.  Its message is
translated when it is read, not when it is raised.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.functional import Promise

from . import render_message


class DatastoreError(Exception):
    """The root of the tree; ``message`` names its values as ``%(name)s``."""

    message: ClassVar[str | Promise]

    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.values = values

    def __str__(self) -> str:
        return render_message(self.message, self.values)

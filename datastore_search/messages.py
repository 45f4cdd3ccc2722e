"""
What is said to people: a sentence and the values that it names.

It is translated when it is read, not when it is made, and can be kept as data until then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from django.utils.functional import Promise

#: Letters of a value that a message repeats.
_LETTERS_SHOWN = 300


class Message:
    """One kind of sentence; ``message`` names its values as ``%(name)s``."""

    message: ClassVar[str | Promise]

    def __init__(self, **values: Any) -> None:
        """Keep the values that the message names."""
        self.values = values

    def __str__(self) -> str:
        """Say it in the active language, and what cannot be written as “�”."""
        said = str(self.message) % {name: _short(value) for name, value in self.values.items()}
        return said.encode(errors="replace").decode().replace("\0", "�")

    def kept(self) -> dict[str, Any]:
        """Give the message as what JSON can hold; a value may be a message, too."""
        values = {
            name: value.kept() if isinstance(value, Message) else value
            for name, value in self.values.items()
        }
        return {"name": type(self).__name__, "values": values}

    @classmethod
    def revived(cls, kept: dict[str, Any]) -> Self | None:
        """Give a kept message of this kind back; None when this version no longer has it."""
        kinds = {kind.__name__: kind for kind in _all_below(cls)}
        kind = kinds.get(kept["name"])
        values = {
            name: Message.revived(value) if isinstance(value, dict) else value
            for name, value in kept["values"].items()
        }
        return kind(**values) if kind else None


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LETTERS_SHOWN else text[:_LETTERS_SHOWN] + "…"


def _all_below(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from _all_below(below)

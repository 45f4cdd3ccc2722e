"""
What a load says of a file, and stores: a code of ``catalogue`` with parameters.

Each reader gets it in their own language.  Failures that code catches or asks for have a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

from django.utils.translation import gettext_lazy as _

from ....field_types import label_type
from ....messages import DatastoreError, render_message
from .catalogue import TEMPLATES

#: What PostgreSQL cannot store.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Message:
    """A message of the catalogue; a parameter may be a message, too."""

    def __init__(self, code: str, /, **parameters: Any) -> None:
        self.code = code
        self.parameters = parameters

    def __str__(self) -> str:
        names = {"type", "before"} & self.parameters.keys()
        words = {name: label_type(self.parameters[name]) for name in names}
        # Types with one label are told apart by their names; a schema has types of its own.
        is_clear = len({*words.values()}) == len(words) and not self.code.startswith("schema.")
        return render_message(TEMPLATES[self.code], self.parameters | (words if is_clear else {}))

    def to_json(self) -> dict[str, Any]:
        """Return the message as it is stored: a text of a file may have what cannot be."""
        parameters = dict(self.parameters)
        for name, value in self.parameters.items():
            if isinstance(value, Message):
                parameters[name] = value.to_json()
            elif isinstance(value, str):
                parameters[name] = UNSTORABLE.sub("�", value)
        return {"code": self.code, "parameters": parameters}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self | None:
        """Read a stored message; None when the catalogue does not have its code."""
        if stored.get("code") not in TEMPLATES:
            return None
        parameters = {
            name: Message.from_json(value) if isinstance(value, dict) else value
            for name, value in stored["parameters"].items()
        }
        message = cls.__new__(cls)
        Message.__init__(message, stored["code"], **parameters)
        return message


def quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


class Notice(Message):
    """What a person should know of how a file was read; nothing is wrong."""


class BadRow(Message):
    """Why a row cannot be loaded."""


class LoadFailed(Message, Exception):
    """
    A file cannot be loaded; nothing has changed.

    A load stores its failure as a code with parameters, so that each reader gets it in their own
    language.
    """

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Read a stored failure; one with an unknown code becomes ``load.unexpected``."""
        return super().from_json(stored) or cls("load.unexpected")


class UnstorableRecord(LoadFailed):
    """PostgreSQL cannot store a record; ``row`` is its number, or ``?`` where it is unknown."""

    def __init__(self, row: int | str) -> None:
        super().__init__("load.unstorable_record", row=row)
        self.row = row


class UnknownType(LoadFailed):
    def __init__(self, name: str, choices: Iterable[str]) -> None:
        super().__init__("option.unknown_type", type=name, types=", ".join(choices))


class InvalidSchema(LoadFailed):
    def __init__(self, code: str, /, **parameters: object) -> None:
        super().__init__("option.invalid_schema", reason=Message(code, **parameters))


class UnknownDialect(LoadFailed):
    def __init__(self) -> None:
        super().__init__("file.unknown_dialect")


class NestedTooDeep(LoadFailed):
    """A JSON value nests lists and objects more than ``most`` deep."""

    def __init__(self, *, most: int) -> None:
        super().__init__("json.too_deep", most=most)


class UploadTooLarge(DatastoreError):
    message = _("The file is larger than %(most)s. Load it with the command instead.")

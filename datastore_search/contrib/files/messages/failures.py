"""Why a file cannot be loaded: a message, and classes for what code catches or asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from django.utils.translation import gettext_lazy as _

from ....messages import DatastoreError
from . import Message


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


class UnexpectedFailure(LoadFailed):
    """A load failed for a reason that no code describes; the log has it."""

    def __init__(self) -> None:
        super().__init__("load.unexpected")


class LoadCancelled(LoadFailed):
    def __init__(self) -> None:
        super().__init__("load.cancelled")


class UnstorableRecord(LoadFailed):
    """PostgreSQL cannot store a record; ``row`` is its number, or ``?`` where it is unknown."""

    def __init__(self, row: int | str) -> None:
        super().__init__("load.unstorable_record", row=row)
        self.row = row


class UnknownType(LoadFailed):
    def __init__(self, name: str, choices: Iterable[str]) -> None:
        super().__init__("option.unknown_type", type=name, types=", ".join(choices))


class InvalidSchema(LoadFailed):
    """A table schema cannot be used, for the reason of a code."""

    def __init__(self, code: str, /, **parameters: object) -> None:
        super().__init__("option.invalid_schema", reason=Message(code, **parameters))


class UnknownDialect(LoadFailed):
    """It is not recognised how a file separates its cells."""

    def __init__(self) -> None:
        super().__init__("file.unknown_dialect")


class NestedTooDeep(LoadFailed):
    """A JSON value nests lists and objects more than ``most`` deep."""

    def __init__(self, *, most: int) -> None:
        super().__init__("json.too_deep", most=most)


class UploadTooLarge(DatastoreError):
    message = _("The file is larger than %(most)s. Load it with the command instead.")

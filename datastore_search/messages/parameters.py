"""Parameters that cannot be used: what their exceptions have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from . import DatastoreError


class InvalidParameter(DatastoreError):
    """A parameter cannot be used; ``parameter`` names it, of the class or where it is raised."""

    parameter: str

    def __init__(self, *, parameter: str = "", **values: Any) -> None:
        super().__init__(**values)
        if parameter:
            self.parameter = parameter

    @property
    def members(self) -> Mapping[str, Any]:
        """What the answer says beside the message, as further members of ``error``."""
        return {}


class InvalidParameters(DatastoreError):
    """Several parameters cannot be used; all errors are reported together."""

    def __init__(self, errors: Iterable[InvalidParameter]) -> None:
        super().__init__()
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return " ".join(map(str, self.errors))


class RefusedValue(InvalidParameter):
    """The declaration of a parameter refuses a value, for a ``reason``."""

    message = "%(reason)s"


class UnknownField(InvalidParameter):
    parameter = "filters"
    message = _("Unknown field: “%(field)s”")

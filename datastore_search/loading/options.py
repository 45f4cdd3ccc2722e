"""How a file is to be read and what becomes of its rows: the choices that a person may make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from ..models import Mode


class BadRowsChoice(StrEnum):
    """What becomes of a file with rows that cannot be loaded."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """
    The choices.  What is empty is found out from the file, or is the default.

    ``types`` gives fields, by name, a type and its notation (``text``, ``date``, ``date:dmy``);
    ``key`` names the fields that no two records share (None: as the resource has it); ``nulls``
    are texts that mean nothing, such as ``NA``; ``skip`` counts lines or rows above the header;
    ``sheet`` is a sheet's name or number from 1, ``member`` a file's name within an archive;
    ``date_order`` is ``dmy`` or ``mdy``, for fields that leave it open; ``schema`` is a
    Frictionless Table Schema; ``may_drop`` lets fields of the resource disappear, ``force`` loads
    a file that is the same as the last.
    """

    mode: str = Mode.REPLACE.value
    types: Mapping[str, str] = field(default_factory=dict)
    usual_types: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] | None = None
    bad_rows: str = BadRowsChoice.REFUSE.value
    nulls: tuple[str, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    skip: int | None = None
    sheet: str = ""
    member: str = ""
    date_order: str = ""
    schema: Mapping[str, Any] | None = None
    may_drop: bool = False
    force: bool = False

    def kept(self) -> dict[str, Any]:
        """Give the choices that are no defaults, as what JSON can hold."""
        plain = LoadOptions()
        said = asdict(self)
        return {name: value for name, value in said.items() if value != getattr(plain, name)}

    @classmethod
    def revived(cls, kept: Mapping[str, Any]) -> Self:
        """Give kept choices back; those that this version no longer has are forgotten."""
        known = {choice.name for choice in fields(cls)}
        found = {name: value for name, value in kept.items() if name in known}
        for name in ("key", "nulls"):
            if found.get(name) is not None:
                found[name] = tuple(found[name])
        return cls(**found)

    def lasting(self) -> Self:
        """Give the choices that are kept for the next load of the resource."""
        return replace(self, may_drop=False, force=False)

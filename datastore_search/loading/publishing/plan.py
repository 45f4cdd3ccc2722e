"""The plan of a load: what was decided about its file, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from ...messages import Notice
from ...models import Load
from ..readers.staging import StagedTable
from ..typing.field_formats import Decision
from ..typing.options import LoadOptions


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """
    A load, its file, and what was decided about it.

    ``key`` names the fields of the primary key; ``notices`` are for the user.
    """

    load: Load
    table: StagedTable
    options: LoadOptions
    decisions: tuple[Decision, ...]
    key: tuple[str, ...]
    notices: tuple[Notice, ...]

    @property
    def types(self) -> dict[str, str]:
        """The names of the types, by the names of the file's fields."""
        return {
            name: decision.field_type.name
            for name, decision in zip(self.table.names, self.decisions, strict=True)
        }

    @property
    def field_formats(self) -> dict[str, str]:
        """The names of the formats, by the names of the file's fields."""
        return {
            name: decision.field_format.name
            for name, decision in zip(self.table.names, self.decisions, strict=True)
        }

    @property
    def units(self) -> dict[str, str]:
        """The units of numbers in the file, by the names of the fields that have one."""
        return {
            name: decision.field_format.unit
            for name, decision in zip(self.table.names, self.decisions, strict=True)
            if decision.field_format.unit
        }

"""What is to be made of a file that has been read."""

from __future__ import annotations

from dataclasses import dataclass

from ...messages import Notice
from ...models import Load
from ..readers.staging import StagedTable
from ..typing.inference import Decision
from ..typing.options import LoadOptions


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """
    A load, its file and what was decided about it.

    ``key`` names the fields that no two records share; ``notices`` is what people should know.
    """

    load: Load
    table: StagedTable
    options: LoadOptions
    decisions: tuple[Decision, ...]
    key: tuple[str, ...]
    notices: tuple[Notice, ...]

    @property
    def types(self) -> dict[str, str]:
        """Map the names of the file's fields to those of their types."""
        return {
            name: decision.kind.name
            for name, decision in zip(self.table.names, self.decisions, strict=True)
        }

    @property
    def forms(self) -> dict[str, str]:
        """Map the names of the file's fields to those of the forms in which it writes them."""
        return {
            name: decision.form.name
            for name, decision in zip(self.table.names, self.decisions, strict=True)
        }

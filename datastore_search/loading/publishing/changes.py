"""What a file changes of a resource's fields: which are new, gone, or of another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...models import Resource
from ..readers.staging import StagedTable
from ..typing.inference import Decision


@dataclass(frozen=True, slots=True)
class RetypedField:
    """A field that was of one type and is of another now, both by name."""

    name: str
    before: str
    type: str


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The names of fields that the file adds or lacks, and the fields whose type is another."""

    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    retyped: tuple[RetypedField, ...] = ()

    def check(self, *, may_drop: bool) -> None:
        """
        Refuse to replace the records when fields would go that nobody has let go.

        Raises: ``LoadFailed`` with ``load.missing_fields``.
        """
        if self.missing and not may_drop:
            raise LoadFailed("load.missing_fields", fields=_listed(self.missing))

    def notices(self, *, replaces: bool) -> list[Notice]:
        """Say what changes; ``replaces`` when the records go with their fields."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=_listed(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=_listed(self.missing)))
        notices += [
            Notice("notice.field_retyped", field=each.name, before=each.before, type=each.type)
            for each in self.retyped
        ]
        return notices


def compare_fields(
    resource: Resource | None, table: StagedTable, decisions: Sequence[Decision] | None = None
) -> FieldChanges:
    """
    Compare a file with a resource; one that has no table yet has no fields that could change.

    Without ``decisions`` nothing is said about types.
    """
    if resource is None or resource.current_load_id is None:
        return FieldChanges()
    before = {field.name: field.type for field in resource.fields.all()}
    now = dict(zip(table.names, decisions or (), strict=bool(decisions)))
    return FieldChanges(
        added=tuple(name for name in table.names if name not in before),
        missing=tuple(name for name in before if name not in table.names),
        retyped=tuple(
            RetypedField(name, before[name], decision.kind.name)
            for name, decision in now.items()
            if before.get(name, decision.kind.name) != decision.kind.name
        ),
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)

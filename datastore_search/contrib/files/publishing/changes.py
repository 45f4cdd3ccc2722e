"""Compare the fields of a file and of a resource: added, missing, or of another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....models import Field, Resource
from ..formats.staging import StagedTable
from ..messages import Notice
from ..messages.failures import LoadFailed
from ..types.field_formats import Decision


@dataclass(frozen=True, slots=True)
class RetypedField:
    """A field that has another type than before; both are names of types."""

    name: str
    before: str
    type: str


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The names of fields that the file adds or lacks, and the fields with another type."""

    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    retyped: tuple[RetypedField, ...] = ()

    def check_missing(self, *, drop_missing_fields: bool) -> None:
        """Refuse to replace the records if fields would be lost without permission."""
        if self.missing and not drop_missing_fields:
            raise LoadFailed("load.missing_fields", fields=_quote_names(self.missing))

    def build_notices(self, *, replaces: bool) -> list[Notice]:
        """Build a notice of each change; ``replaces`` if missing fields are dropped."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=_quote_names(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=_quote_names(self.missing)))
        notices += [
            Notice("notice.field_retyped", field=each.name, before=each.before, type=each.type)
            for each in self.retyped
        ]
        return notices


def compare_fields(
    resource: Resource | None, table: StagedTable, decisions: Sequence[Decision] | None = None
) -> FieldChanges:
    """
    Compare a file with a resource; a resource without a table has no fields that could change.

    Without ``decisions`` the types are not compared.
    """
    if resource is None or resource.table_version_id is None:
        return FieldChanges()
    before = dict(resource.fields.values_list("name", "type"))
    now = dict(zip(table.names, decisions or (), strict=bool(decisions)))
    names = set(table.names)
    return FieldChanges(
        added=tuple(name for name in table.names if name not in before),
        missing=tuple(name for name in before if name not in names),
        retyped=tuple(
            RetypedField(name, before[name], decision.field_type.name)
            for name, decision in now.items()
            if before.get(name, decision.field_type.name) != decision.field_type.name
        ),
    )


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def build_field(resource: Resource, name: str, label: str) -> Field:
    """Build a new field of a file, without a label that equals the name."""
    return Field(resource=resource, name=name, label=label if label != name else "")

"""Compare the fields of a file and of a resource: added, missing, or of another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....models import Field, Resource
from ..formats.staging import StagedTable
from ..messages import Notice
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

    def build_notices(self, *, replaces: bool) -> list[Notice]:
        """Build a notice of each change; ``replaces`` if missing fields are dropped."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=quote_names(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=quote_names(self.missing)))
        notices += [
            Notice("notice.field_retyped", field=each.name, before=each.before, type=each.type)
            for each in self.retyped
        ]
        return notices


def compare_fields(
    resource: Resource, table: StagedTable, decisions: Sequence[Decision]
) -> FieldChanges:
    """Compare a file with a resource; one without a table has no fields that could change."""
    if resource.table_version_id is None:
        return FieldChanges()
    before = dict(resource.fields.values_list("name", "type"))
    now = dict(zip(table.names, decisions, strict=True))
    return FieldChanges(
        added=tuple(name for name in now if name not in before),
        missing=tuple(name for name in before if name not in now),
        retyped=tuple(
            RetypedField(name, before[name], decision.field_type.name)
            for name, decision in now.items()
            if before.get(name, decision.field_type.name) != decision.field_type.name
        ),
    )


def quote_names(names: Sequence[str]) -> str:
    """List names in a message."""
    return ", ".join(f"“{name}”" for name in names)


def build_field(resource: Resource, name: str, label: str, type_name: str) -> Field:
    """Build a new field of a file, without a label that equals the name."""
    label = label if label != name else ""
    return Field(resource=resource, name=name, label=label, type=type_name)

"""What is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import LiteralString

from .. import storage
from ..exceptions import UnknownResource
from ..filters import Clause
from ..models import Resource
from .record_sizes import RecordSizes


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """
    What is searched: something with the columns ``_id``, ``data`` and ``search``.

    ``names`` maps the names of the fields to those of their types, in order; those that are
    ``sparse`` some records lack, and of those that are ``ordered`` there is an index; ``rows``
    counts all records where that is known, and ``common`` those of some values, by field and JSON
    text.  By the column ``place`` a statement fetches again what it has found: of a table, where a
    record lies.  ``sizes`` are what answers have shown of its records.
    """

    source: Clause
    names: Mapping[str, str]
    language: str
    rows: int | None
    place: LiteralString = "ctid"
    sparse: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    common: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sizes: RecordSizes = field(default_factory=RecordSizes)


def build_relation(resource: Resource) -> Relation:
    """Give what is searched: the record table of a described resource."""
    load = resource.current_load
    if load is None:
        raise UnknownResource(resource=resource.pk)
    return Relation(
        source=Clause(storage.record_table(load.pk)),
        names={field.name: field.type for field in resource.schema},
        language=load.language,
        rows=load.rows,
        sparse=frozenset(field.name for field in resource.schema if field.is_sparse),
        ordered=frozenset(field.name for field in resource.schema if field.has_order_index),
        common=load.value_counts,
    )

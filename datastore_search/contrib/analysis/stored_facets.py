"""
Facets of all records, from what a load has counted.

A table version has the number of records with each common value of some fields, and a profile of
each field.  They are used only where they give exactly what a statement would find.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...field_types import dump_json, field_types
from ...models import Profiles
from ...search import Relation

#: A profile cuts texts to this length.
_MAX_PROFILED_LENGTH = 100

#: A profile has this number of values at most, of those that more than one record has.
_MAX_PROFILED_VALUES = 10


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """
    The most common values of a field: their JSON texts with their counts, the most common first.

    Each value that more than ``beyond`` records have is among them.  With ``has_ties`` the values
    that exactly ``beyond`` records have come in the order of their code points, as far as they are
    there.
    """

    values: Sequence[tuple[str, int]]
    beyond: int
    has_ties: bool
    nulls: int
    distinct: int

    def select(self, limit: int, min_count: int) -> Sequence[tuple[str, int]] | None:
        """Select the first values, as a statement would; None where they are not known."""
        found = [each for each in self.values if each[1] >= min_count][:limit]
        if len(self.values) == self.distinct or min_count > self.beyond:
            return found
        if len(found) < limit:
            return None
        is_sure = not found or self.has_ties or found[-1][1] > self.beyond
        return found if is_sure else None


def list_stored_counts(
    relation: Relation, profiles: Profiles | None, name: str
) -> list[StoredCounts]:
    """List the stored counts of a field's values; ``profiles`` must be current."""
    profile = profiles.fields.get(name) if profiles else None
    if profile is not None and profile.get("distinct_is_estimated"):
        profile = None
    found = []
    counted = relation.value_counts.get(name)
    values = {text: count for text, count in (counted or {}).items() if text != "null"}
    if counted is not None and sum(counted.values()) == relation.record_count:
        nulls = counted.get("null", 0)
        found.append(StoredCounts(_sort_counts(values), 0, True, nulls, len(values)))
    elif values and profile is not None:
        listed = _sort_counts(values)
        # Every value that as many records have as the last one of these is among them.
        beyond = listed[-1][1] - 1
        found.append(StoredCounts(listed, beyond, False, profile["nulls"], profile["distinct"]))
    kind = field_types[relation.types[name]]
    # A profile keeps one notation, which values of these types do not have.
    if profile is None or kind.is_nested or (kind.is_number and not kind.is_integer):
        return found
    top = profile.get("top", [])
    texts = (each["value"] for each in top if isinstance(each["value"], str))
    if all(len(text) < _MAX_PROFILED_LENGTH for text in texts):
        values = {dump_json(each["value"]): each["count"] for each in top}
        is_full = len(top) == _MAX_PROFILED_VALUES
        if profile.get("empty"):
            values['""'] = profile["empty"]
        beyond = top[-1]["count"] if is_full else 1
        # A profile sorts equally common values by their texts in the file.
        has_ties = kind.is_text and is_full
        listed = _sort_counts(values)
        found.append(StoredCounts(listed, beyond, has_ties, profile["nulls"], profile["distinct"]))
    return found


def _sort_counts(values: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    """Sort values by their counts, and equally common ones by size or code points."""
    return sorted(values.items(), key=lambda each: (-each[1], json.loads(each[0])))

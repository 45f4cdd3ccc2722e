"""
Which forms all values of a field are of: the conditions of ``forms``, tried on the rows of a file.

Columns on which the same is tried are looked at together, and none is asked more than it must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...field_types import FieldType
from ..readers.staging import STAGED_ROWS, StagedTable
from .field_formats import TEXT, FieldFormat, FormatGroup, format_groups

#: Rows that are looked at before all others.
_FIRST_ROWS = 20_000

#: Columns that are turned into rows together: DuckDB keeps 2,048 values of each.
_COLUMNS_AT_ONCE = 200

#: What a field that the file calls text may be all the same: figures in it are no numbers.
_MOMENTS = frozenset({"date", "time", "timestamp"})

#: The forms that all values of a field are of, by column: several if they are rivals.
Found = dict[str, tuple[FieldFormat, ...]]


def match_formats(table: StagedTable, columns: Sequence[str]) -> Found:
    """
    Find the forms that all values of each column are of.

    The first rows are looked at before, for they refute most forms: only where some are left is
    all of the file read, for the narrowest first.
    """
    tried = {column: _tried(table, column) for column in columns}
    start = _looked_at(table, f"(SELECT * FROM {STAGED_ROWS} LIMIT {_FIRST_ROWS})", tried)
    if table.count_rows() <= _FIRST_ROWS:
        return {column: look.read for column, look in start.items()}
    later = _looked_at(table, str(STAGED_ROWS), {c: tried[c] for c in columns if c not in start})
    return {column: look.read for column, look in later.items()} | _confirmed(table, start)


def _tried(table: StagedTable, column: str) -> tuple[FormatGroup, ...]:
    """List the families that a field may be of."""
    if table.declared_types[table.columns.index(column)] != TEXT.name:
        return format_groups
    return tuple(family for family in format_groups if family.kinds <= _MOMENTS)


Held = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Look:
    """What some rows say of a column: the conditions that hold, and the families left by them."""

    held: frozenset[str]
    left: tuple[FormatGroup, ...]

    @property
    def fitting(self) -> FormatGroup | None:
        """Find the first family that all the values are of."""
        return next((family for family in self.left if family.read(self.held)), None)

    @property
    def read(self) -> tuple[FieldFormat, ...]:
        """Give the forms of that family."""
        return self.fitting.read(self.held) if self.fitting else ()

    def asks(self, *, guarded: bool) -> tuple[str, ...]:
        """List the conditions to try next, unless a family fits already."""
        if self.fitting:
            return ()
        return tuple(
            way
            for family in self.left
            for way in family.ways
            if bool(family.guard) == guarded and way not in self.held
        )

    def told(self, more: frozenset[str], *, guarded: bool) -> _Look:
        """Take the answer to what was asked."""
        held = self.held | more
        return _Look(
            held,
            tuple(
                family for family in self.left if bool(family.guard) != guarded or family.read(held)
            ),
        )


def _looked_at(
    table: StagedTable, relation: str, tried: Mapping[str, Sequence[FormatGroup]]
) -> dict[str, _Look]:
    """
    Look at some rows: the cheap conditions first, the others where nothing else fits.

    A column without any value is left out.
    """
    first = {c: [way for family in tried[c] for way in family.first_ways] for c in tried}
    looks = {
        column: _Look(held, tuple(family for family in tried[column] if family.may_fit(held)))
        for column, held in find_conditions_met(table, relation, first).items()
    }
    for guarded in (False, True):
        asked = {c: ways for c, look in looks.items() if (ways := look.asks(guarded=guarded))}
        for column, held in find_conditions_met(table, relation, asked).items():
            looks[column] = looks[column].told(held, guarded=guarded)
    return looks


def _confirmed(table: StagedTable, start: Mapping[str, _Look]) -> Found:
    """Try on all rows what the first have left: the narrowest family, and where it fails others."""
    narrowest = {column: look.fitting for column, look in start.items() if look.fitting}
    asked = {c: [w for w in family.ways if w in start[c].held] for c, family in narrowest.items()}
    held = find_conditions_met(table, str(STAGED_ROWS), asked)
    found = {column: family.read(held[column]) for column, family in narrowest.items()}
    others = {
        column: tuple(family for family in start[column].left if family is not narrowest[column])
        for column, read in found.items()
        if not read
    }
    found |= {
        column: look.read for column, look in _looked_at(table, str(STAGED_ROWS), others).items()
    }
    return found


def find_conditions_met(
    table: StagedTable, relation: str, tried: Mapping[str, Iterable[str]]
) -> Held:
    """
    Find the conditions that hold for all values of each column, among those tried on it.

    A column without any value is left out.  The columns are turned into rows first, so that a
    table of 500 columns costs as many expressions as one of a single column: DuckDB takes 2 ms to
    prepare each.  Columns on which the same is tried are looked at together.
    """
    together: dict[tuple[str, ...], list[str]] = {}
    for column, ways in tried.items():
        together.setdefault(tuple(dict.fromkeys(ways)), []).append(column)
    found: Held = {}
    for ways, columns in together.items():
        for start in range(0, len(columns) if ways else 0, _COLUMNS_AT_ONCE):
            some = columns[start : start + _COLUMNS_AT_ONCE]
            found |= _held_together(table, relation, some, ways)
    return found


def _held_together(
    table: StagedTable, relation: str, columns: Sequence[str], ways: Sequence[str]
) -> Held:
    holds = ", ".join(f"bool_and(coalesce({FieldType.over(way, 'value')}, false))" for way in ways)
    answers = table.connection.execute(
        f"SELECT name, {holds} FROM (UNPIVOT (SELECT {', '.join(columns)} FROM {relation})"
        f" ON {', '.join(columns)} INTO NAME name VALUE value) WHERE value <> '' GROUP BY name"
    ).fetchall()
    return {
        name: frozenset(way for way, holds in zip(ways, held, strict=True) if holds)
        for name, *held in answers
    }


def is_met_by_all_values(table: StagedTable, column: str, condition: str) -> bool:
    """Ask whether all values meet a condition; most are refuted by the first rows."""
    start = f"(SELECT * FROM {STAGED_ROWS} LIMIT {_FIRST_ROWS})"
    return all(
        condition in _held_together(table, relation, [column], [condition]).get(column, {condition})
        for relation in (start, str(STAGED_ROWS))
    )

"""Find the formats that all values of a field match, by testing conditions on a file's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Any, TypeVar

from ....field_types import Ordered
from ..formats.duckdb_sql import SQL, Composed, quote_identifier
from ..formats.staging import STAGED_ROWS, StagedTable
from .field_formats import TEXT, FieldFormat, FormatGroup, bind_value, format_groups

#: The value of a cell in ``select_cells``.
VALUE = quote_identifier("value")

_DATE_GROUPS = tuple(
    group
    for group in format_groups
    if all(each.field_type.ordered is Ordered.DATES for each in group.formats)
)

_Key = TypeVar("_Key")


def match_formats(
    table: StagedTable, columns: Sequence[str], chosen: tuple[FormatGroup, ...] = ()
) -> dict[str, tuple[FieldFormat, ...]]:
    """
    Find the formats that all values of each column match: several where they are ambiguous.

    ``chosen`` are groups that a user allows, and that are tested last.  The first rows are tested
    before the others.  All rows are read only where a format is left, and the narrowest first.  A
    column without values is left out.
    """
    declared_types = dict(zip(table.columns, table.declared_types, strict=True))
    groups = {
        # Digits in a field that is declared as text are text.
        column: (*(_DATE_GROUPS if declared_types[column] == TEXT.name else format_groups), *chosen)
        for column in columns
    }
    first = _test_formats(table, _select_first_rows(table), groups)
    if table.count_rows() <= table.sample_size:
        return {column: candidates.matches for column, candidates in first.items()}
    narrowest = {column: each.group for column, each in first.items() if each.group}
    met = find_conditions_met(
        table,
        STAGED_ROWS,
        {
            column: [each for each in group.conditions if each in first[column].met]
            for column, group in narrowest.items()
        },
    )
    matches = {column: group.match_formats(met[column]) for column, group in narrowest.items()}
    others = {
        column: tuple(group for group in first[column].groups if group is not narrowest[column])
        for column, found in matches.items()
        if not found
    }
    empty_so_far = {column: groups[column] for column in columns if column not in first}
    tested = _test_formats(table, STAGED_ROWS, others | empty_so_far)
    return matches | {column: each.matches for column, each in tested.items()}


def _select_first_rows(table: StagedTable) -> Composed:
    """Build a relation of the rows that are tested before all others: they refute most formats."""
    query = "SELECT rowid FROM {} LIMIT 1 OFFSET {}"
    after = table.staging_area.fetch_value(query, STAGED_ROWS, table.sample_size)
    if after is None:
        return STAGED_ROWS
    # A LIMIT would hold all these rows in memory.
    return SQL("(SELECT * FROM {} WHERE rowid < {})").format(STAGED_ROWS, after)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The conditions that the tested values of a column meet, and the groups still possible."""

    met: frozenset[str]
    groups: tuple[FormatGroup, ...]

    @property
    def group(self) -> FormatGroup | None:
        """The first group with a format that all the values match."""
        return next((group for group in self.groups if group.match_formats(self.met)), None)

    @property
    def matches(self) -> tuple[FieldFormat, ...]:
        """The formats of that group that all the values match."""
        return self.group.match_formats(self.met) if self.group else ()


def _test_formats(
    table: StagedTable, relation: Composed, groups: Mapping[str, Sequence[FormatGroup]]
) -> dict[str, _Candidates]:
    """Test formats on the rows of a relation: cheap conditions first, others if nothing matches."""
    first = {
        column: [condition for group in groups[column] for condition in group.first_conditions]
        for column in groups
    }
    candidates = {
        column: _Candidates(
            met, tuple(g for g in groups[column] if not met.isdisjoint(g.first_conditions))
        )
        for column, met in find_conditions_met(table, relation, first).items()
    }
    for guarded in (False, True):
        untested = {
            column: [
                condition
                for group in each.groups
                for condition in group.conditions
                if bool(group.guard) == guarded and condition not in each.met
            ]
            for column, each in candidates.items()
            if not each.group
        }
        for column, found in find_conditions_met(table, relation, untested).items():
            met, tested = candidates[column].met | found, candidates[column].groups
            kept = (g for g in tested if bool(g.guard) != guarded or g.match_formats(met))
            candidates[column] = _Candidates(met, tuple(kept))
    return candidates


def find_conditions_met(
    table: StagedTable, relation: Composed, conditions: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """
    Find the conditions that all values of each column meet, among those given for it.

    A column without values is left out, as is one without conditions.  Columns with the same
    conditions are tested together.
    """
    keyed = {column: tuple(dict.fromkeys(tested)) for column, tested in conditions.items()}

    def test(condition: str) -> Composed:
        return SQL("bool_and(coalesce({}, false))").format(bind_value(condition, VALUE))

    met = aggregate_cells(table, keyed, test, relation)
    return {column: frozenset(compress(keyed[column], found)) for column, found in met}


def aggregate_cells(
    table: StagedTable,
    keyed: Mapping[str, Sequence[_Key]],
    aggregate: Callable[[_Key], Composed],
    relation: Composed = STAGED_ROWS,
) -> Iterator[tuple[str, list[Any]]]:
    """
    Compute aggregates of the values of each column of a relation: one of each part of its key.

    A column without values is left out, as is one without parts.
    """
    for parts, columns in group_columns(table, keyed):
        if not parts:
            continue
        query = "SELECT name, {} FROM {} WHERE value <> '' GROUP BY name"
        cells = table.rows.select_cells(columns, relation)
        for column, *found in table.execute(query, map(aggregate, parts), cells).fetchall():
            yield column, found


def group_columns(
    table: StagedTable, keyed: Mapping[str, _Key]
) -> Iterator[tuple[_Key, Sequence[str]]]:
    """Group the columns of the same key, as many as one statement can read."""
    columns_of: defaultdict[_Key, list[str]] = defaultdict(list)
    for column, key in keyed.items():
        columns_of[key].append(column)
    for key, columns in columns_of.items():
        for some in table.rows.split_columns(columns):
            yield key, some


def find_columns_that_meet(table: StagedTable, columns: Sequence[str], condition: str) -> list[str]:
    """List the columns that have values, which all meet a condition; the first refute most."""
    for rows in (_select_first_rows(table), STAGED_ROWS):
        met = find_conditions_met(table, rows, {column: [condition] for column in columns})
        columns = [column for column in columns if condition in met.get(column, {condition})]
    return list(columns)


def find_first_cells(
    table: StagedTable, columns: Sequence[str], condition: str, *, count: int = 1, length: int = 100
) -> dict[str, list[tuple[int, str]]]:
    """
    Find the first values of each column that meet a condition: their lines, and texts cut short.

    ``length`` is in characters.  A column without such values is left out.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    query = (
        "SELECT name, arg_min(line, line, {0}), arg_min(value[:{1}], line, {0})"
        " FROM {2} WHERE value <> '' AND {3} GROUP BY name"
    )
    for rows in (_select_first_rows(table), STAGED_ROWS):
        missing = [column for column in columns if len(found.get(column, ())) < count]
        for some in table.rows.split_columns(missing):
            cells = table.rows.select_cells(some, rows, has_lines=True)
            firsts = table.execute(query, count, length, cells, bind_value(condition, VALUE))
            for name, lines, values in firsts.fetchall():
                found[name] = list(zip(lines, values, strict=True))
        if table.count_rows() <= table.sample_size:
            break
    return found


def find_first_values(table: StagedTable, columns: Sequence[str], condition: str) -> dict[str, str]:
    found = find_first_cells(table, columns, condition)
    return {column: value for column, ((_line, value),) in found.items()}


def count_matches(
    table: StagedTable,
    keyed: Mapping[str, tuple[_Key, ...]],
    get_condition: Callable[[_Key], str] = attrgetter("condition"),
) -> dict[str, dict[_Key, int]]:
    """Count the values of columns that meet the condition of each format, or other key, given."""

    def count(key: _Key) -> Composed:
        return SQL("count_if({})").format(bind_value(get_condition(key), VALUE))

    counts = {column: dict.fromkeys(keys, 0) for column, keys in keyed.items()}
    for column, found in aggregate_cells(table, keyed, count):
        counts[column] = dict(zip(keyed[column], found, strict=True))
    return counts

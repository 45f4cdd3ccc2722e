"""Why fields are text although their values look like something else: for the preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...field_types import FieldType
from ...messages import Message
from ..readers.staging import STAGED_ROWS, StagedTable
from .field_formats import field_formats

#: Rows from all over the file that are looked at before all of them.
_SOME_ROWS = 20_000

#: A form that fits fewer values is no near miss; of some rows a little less will do.
_NEARLY_ALL = 0.95
_NEARLY_ALL_OF_SOME = 0.9

#: So few misfits are near misses in short files, too, if most values fit.
_FEW = 3
_MOST = 0.5

#: What values may look like, and how people call it.
_LOOKS: Mapping[str, str] = {
    **dict.fromkeys(("numeric", "numeric:point", "numeric:comma"), "values.numbers"),
    **dict.fromkeys(("date", "date:dmy", "date:mdy", "date:ymd"), "values.dates"),
    **dict.fromkeys(
        ("timestamp", "timestamptz", "timestamp:dmy", "timestamp:mdy", "timestamp:ymd"),
        "values.timestamps",
    ),
    "time": "values.times",
}
_SHORT_YEARS = "regexp_full_match({v}, '[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}( .*)?')"
_CONDITIONS = {name: field_formats[name].accepts for name in _LOOKS} | {"short": _SHORT_YEARS}

#: What a number must not lose, and how to see it.
_LOSSES: Mapping[str, str] = {
    "type.leading_zeros": "regexp_matches({v}, '^[+-]?0[0-9]')",
    "type.leading_plus": "starts_with({v}, '+')",
    "type.long_numbers": "regexp_full_match({v}, '-?[0-9]{19,}')",
    "type.exponents": "regexp_matches({v}, '[0-9.][eE]|^[+-]?[.]|^-0([.]0+)?$|[nN]')",
}


@dataclass(frozen=True, slots=True)
class _Fit:
    """How many values meet a condition, and the first that does not."""

    count: int
    total: int
    line: int | None
    value: str | None

    @property
    def share(self) -> float:
        """Give the part of the values that meet it."""
        return self.count / self.total

    def is_near(self, least: float) -> bool:
        """Tell whether nearly all values meet it."""
        few = self.total - self.count <= _FEW and self.share > _MOST
        return few or self.share >= least


def explain_text_columns(table: StagedTable, columns: Sequence[str]) -> dict[str, Message]:
    """Find out why columns are text, where there is more to say than that they hold words."""
    if not columns:
        return {}
    rows = table.count_rows()
    some = f"(SELECT * FROM {STAGED_ROWS} WHERE rowid % {rows // _SOME_ROWS + 1} = 0)"
    looks = _fits(table, some, dict.fromkeys(columns, tuple(_CONDITIONS)))
    close = {
        column: tuple(name for name, fit in fits.items() if fit.is_near(_NEARLY_ALL_OF_SOME))
        for column, fits in looks.items()
    }
    found = _fits(
        table, str(STAGED_ROWS), {column: names for column, names in close.items() if names}
    )
    reasons = {column: _reason(table, column, fits) for column, fits in found.items()}
    reasons |= {
        c: Message("type.no_values") for c in columns if c not in looks and _is_empty(table, c)
    }
    return {column: reason for column, reason in reasons.items() if reason}


def _fits(
    table: StagedTable, relation: str, tried: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, _Fit]]:
    """Count the values of columns that meet conditions, given by name."""
    together: dict[tuple[str, ...], list[str]] = {}
    for column, names in tried.items():
        together.setdefault(names, []).append(column)
    found: dict[str, dict[str, _Fit]] = {}
    for names, columns in together.items():
        found |= _fits_of(table, relation, columns, names)
    return found


def _fits_of(
    table: StagedTable, relation: str, columns: Sequence[str], names: Sequence[str]
) -> dict[str, dict[str, _Fit]]:
    met = [f"coalesce({FieldType.over(_CONDITIONS[name], 'value')}, false)" for name in names]
    counts = ", ".join(
        f"count_if({each}), min(line) FILTER (NOT {each}),"
        f" arg_min(value[:100], line) FILTER (NOT {each})"
        for each in met
    )
    answers = table.connection.execute(
        f"SELECT name, count(*), {counts} FROM (UNPIVOT (SELECT line, {', '.join(columns)}"
        f" FROM {relation}) ON {', '.join(columns)} INTO NAME name VALUE value)"
        " WHERE value <> '' GROUP BY name"
    ).fetchall()
    return {
        column: {
            name: _Fit(counted[3 * place], total, counted[3 * place + 1], counted[3 * place + 2])
            for place, name in enumerate(names)
        }
        for column, total, *counted in answers
    }


def _reason(table: StagedTable, column: str, fits: Mapping[str, _Fit]) -> Message | None:
    name, fit = max(fits.items(), key=lambda item: item[1].count)
    if not fit.is_near(_NEARLY_ALL):
        return None
    if name == "short":
        line, value = _first(table, column, _SHORT_YEARS) or (0, "")
        return Message("type.two_digit_years", line=line, value=value)
    if fit.share < 1:
        return Message(
            "type.nearly_all",
            count=fit.total - fit.count,
            total=fit.total,
            type=Message(_LOOKS[name]),
            line=fit.line,
            value=fit.value,
        )
    return _loss(table, column, name)


def _loss(table: StagedTable, column: str, name: str) -> Message | None:
    """Say what would be lost if all the values were of the form that they can be read as."""
    if field_formats[name].kind.name == "numeric":
        for code, condition in _LOSSES.items():
            if found := _first(table, column, condition):
                return Message(code, line=found[0], value=found[1])
    return Message("type.mixed_formats", type=Message(_LOOKS[name]))


def _first(table: StagedTable, column: str, condition: str) -> tuple[int, str] | None:
    found = table.connection.execute(
        f"SELECT line, {column}[:100] FROM {STAGED_ROWS} WHERE {column} <> ''"
        f" AND {FieldType.over(condition, column)} ORDER BY line LIMIT 1"
    ).fetchone()
    return (int(found[0]), str(found[1])) if found else None


def _is_empty(table: StagedTable, column: str) -> bool:
    return _first(table, column, "true") is None

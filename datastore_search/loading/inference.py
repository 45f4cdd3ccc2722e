"""
The types of a file's fields, inferred over all rows and without loss.

A field has a form only when every value says so and all are written alike, so that the stored
values can be written back as they were: ``007``, ``+84``, ``1e5`` and numbers too long for an
integer stay text.  So does what two rival forms read differently: ``1/2/2024``, ``1,234``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..exceptions.loads import (
    AmbiguousDates,
    AmbiguousNumbers,
    ChosenType,
    DecidedByOrder,
    EveryValue,
    GroupedCodes,
    MaybeThousands,
    Remark,
    ToldType,
    TypeNotApplied,
    UnfitValue,
    UnknownTypeField,
)
from ..field_types import FieldType
from .forms import EITHER, TEXT, Family, Form, chosen_form, families, forms
from .options import LoadOptions
from .reasons import reasons_for_text
from .table import FAULTS, STAGED, Table, kept_literal, literal
from .tableschema import schema_of

#: Rows that are looked at before all others.
_FIRST_ROWS = 20_000

#: Columns that are turned into rows together: DuckDB keeps 2,048 values of each.
_COLUMNS_AT_ONCE = 200

#: Groups of figures that are all as long as this are telephone numbers rather than amounts.
_CODE_LETTERS = 9

#: What a field that the file calls text may be all the same: figures in it are no numbers.
_MOMENTS = frozenset({"date", "time", "timestamp"})


@dataclass(frozen=True, slots=True)
class Decision:
    """
    What a field's values are read as.

    ``chosen`` says that a person did, ``told`` that the file did; ``reason`` says why, as far as it
    was asked for.  ``remark`` is what a person should know in any case.
    """

    form: Form
    chosen: bool = False
    told: bool = False
    reason: Remark | None = None
    remark: Remark | None = None

    @property
    def kind(self) -> FieldType:
        """Give the type."""
        return self.form.kind


def decide(table: Table, options: LoadOptions, *, explain: bool = False) -> tuple[Decision, ...]:
    """
    Give each field its form: the chosen one, the file's own, or the narrowest that fits all values.

    The texts that mean nothing become null first.  Values that are not of a chosen form become
    faults of the table.  ``explain`` finds the reason of each decision, which takes time.

    Raises: ``UnknownTypeField``, ``UnknownType``.
    """
    for name in options.types:
        if _column(table, name) is None:
            raise UnknownTypeField(field=name)
    _empty_nulls(table, options.nulls)
    found = _chosen(table, options)
    found |= _told(table, [column for column in table.columns if column not in found])
    read = _inferred(table, [column for column in table.columns if column not in found])
    found |= {
        column: _decision(table, column, read.get(column, ()), options)
        for column in table.columns
        if column not in found
    }
    if explain:
        found |= _explained(table, found)
    return tuple(found[column] for column in table.columns)


def remarks_on_types(
    table: Table, options: LoadOptions, decisions: Iterable[Decision]
) -> tuple[Remark, ...]:
    """Say what a person should know of the types of a file, beside the remarks of the table."""
    unknown = [name for name in options.wanted_types if _column(table, name) is None]
    return (
        *schema_of(options.schema).remarks,
        *(TypeNotApplied(field=name) for name in unknown),
        *(decision.remark for decision in decisions if decision.remark),
    )


def longest_values(table: Table) -> list[int]:
    """Measure the longest value of each field, in bytes."""
    longest = ", ".join(f"max(strlen({column}))" for column in table.columns)
    found = table.connection.execute(f"SELECT {longest} FROM {table.relation}").fetchone()
    return [length or 0 for length in found or ()]


def _empty_nulls(table: Table, nulls: Sequence[str]) -> None:
    """
    Make null of the texts that mean nothing.

    Only the columns that have such texts are written anew: a view would compare every value each
    time that the rows are read, a new table takes as long as reading the file.
    """
    if not nulls:
        return
    nothing = f"IN ({', '.join(literal(text) for text in nulls)})"
    found = table.connection.execute(
        f"SELECT {', '.join(f'bool_or({column} {nothing})' for column in table.columns)}"
        f" FROM {STAGED}"
    ).fetchone()
    for column, has_some in zip(table.columns, found or (), strict=True):
        if has_some:
            table.connection.execute(
                f"ALTER TABLE {STAGED} ALTER {column} TYPE VARCHAR"
                f" USING CASE WHEN {column} {nothing} THEN NULL ELSE {column} END"
            )


def _name(table: Table, column: str) -> str:
    return table.names[table.columns.index(column)]


def _column(table: Table, name: str) -> str | None:
    """Find the column of a field by its name, or by the header's own word for it."""
    for words in (table.names, table.labels):
        if name in words:
            return table.columns[words.index(name)]
    return None


# What people and the file say ---------------------------------------------------------------------


def _chosen(table: Table, options: LoadOptions) -> dict[str, Decision]:
    """Take the types that were chosen, for this load or before, and note what does not fit them."""
    wanted = {
        column: [chosen_form(name) for name in said.split(EITHER)]
        for name, said in options.wanted_types.items()
        if (column := _column(table, name))
    }
    found = {}
    for column, choices in wanted.items():
        form = choices[0] if len(choices) == 1 else _fitting_most(table, column, choices)
        found[column] = Decision(form, chosen=True)
        _note_misfits(table, column, form)
    return found


def _fitting_most(table: Table, column: str, choices: Sequence[Form]) -> Form:
    """Choose the first of the forms that most values are of."""
    counts = ", ".join(f"count_if({FieldType.over(form.accepts, column)})" for form in choices)
    found = table.connection.execute(
        f"SELECT {counts} FROM {STAGED} WHERE {column} <> ''"
    ).fetchone()
    fitting = dict(zip(choices, found or (), strict=True))
    return max(choices, key=lambda form: fitting[form])


def _told(table: Table, columns: Sequence[str]) -> dict[str, Decision]:
    """Take the types that the file gives, where all values are of them; text is looked into."""
    tells = dict(zip(table.columns, table.tells, strict=True))
    told = {
        column: forms[tell] for column in columns if (tell := tells[column]) not in {None, "text"}
    }
    held = _held(table, STAGED, {column: [form.accepts] for column, form in told.items()})
    return {
        column: Decision(form, told=True)
        for column, form in told.items()
        if form.accepts in held.get(column, {form.accepts})
    }


def _note_misfits(table: Table, column: str, form: Form) -> None:
    """Make faults of the values that are not of the form somebody chose."""
    fault = kept_literal(UnfitValue(type=form.title).kept())
    table.connection.execute(
        f"INSERT INTO {FAULTS} SELECT line, {literal(_name(table, column))}, {column}[:100],"
        f" {fault} FROM {table.relation} WHERE {column} <> ''"
        f" AND NOT coalesce({FieldType.over(form.accepts, column)}, false)"
    )


# What the values say ------------------------------------------------------------------------------

#: The forms that all values of a field are of, by column: several if they are rivals.
Found = dict[str, tuple[Form, ...]]


def _inferred(table: Table, columns: Sequence[str]) -> Found:
    """
    Find the forms that all values of each column are of.

    The first rows are looked at before, for they refute most forms: only where some are left is
    all of the file read, for the narrowest first.
    """
    tried = {column: _tried(table, column) for column in columns}
    start = _looked_at(table, f"(SELECT * FROM {STAGED} LIMIT {_FIRST_ROWS})", tried)
    if table.count() <= _FIRST_ROWS:
        return {column: look.read for column, look in start.items()}
    later = _looked_at(table, STAGED, {c: tried[c] for c in columns if c not in start})
    return {column: look.read for column, look in later.items()} | _confirmed(table, start)


def _tried(table: Table, column: str) -> tuple[Family, ...]:
    """List the families that a field may be of."""
    if table.tells[table.columns.index(column)] != TEXT.name:
        return families
    return tuple(family for family in families if family.kinds <= _MOMENTS)


Held = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Look:
    """What some rows say of a column: the conditions that hold, and the families left by them."""

    held: frozenset[str]
    left: tuple[Family, ...]

    @property
    def fitting(self) -> Family | None:
        """Find the first family that all the values are of."""
        return next((family for family in self.left if family.read(self.held)), None)

    @property
    def read(self) -> tuple[Form, ...]:
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
    table: Table, relation: str, tried: Mapping[str, Sequence[Family]]
) -> dict[str, _Look]:
    """
    Look at some rows: the cheap conditions first, the others where nothing else fits.

    A column without any value is left out.
    """
    first = {c: [way for family in tried[c] for way in family.first_ways] for c in tried}
    looks = {
        column: _Look(held, tuple(family for family in tried[column] if family.may_fit(held)))
        for column, held in _held(table, relation, first).items()
    }
    for guarded in (False, True):
        asked = {c: ways for c, look in looks.items() if (ways := look.asks(guarded=guarded))}
        for column, held in _held(table, relation, asked).items():
            looks[column] = looks[column].told(held, guarded=guarded)
    return looks


def _confirmed(table: Table, start: Mapping[str, _Look]) -> Found:
    """Try on all rows what the first have left: the narrowest family, and where it fails others."""
    narrowest = {column: look.fitting for column, look in start.items() if look.fitting}
    asked = {c: [w for w in family.ways if w in start[c].held] for c, family in narrowest.items()}
    held = _held(table, STAGED, asked)
    found = {column: family.read(held[column]) for column, family in narrowest.items()}
    others = {
        column: tuple(family for family in start[column].left if family is not narrowest[column])
        for column, read in found.items()
        if not read
    }
    found |= {column: look.read for column, look in _looked_at(table, STAGED, others).items()}
    return found


def _held(table: Table, relation: str, tried: Mapping[str, Iterable[str]]) -> Held:
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
            found |= _held_of(table, relation, some, ways)
    return found


def _held_of(table: Table, relation: str, columns: Sequence[str], ways: Sequence[str]) -> Held:
    holds = ", ".join(f"bool_and(coalesce({FieldType.over(way, 'value')}, false))" for way in ways)
    answers = table.connection.execute(
        f"SELECT name, {holds} FROM (UNPIVOT (SELECT {', '.join(columns)} FROM {relation})"
        f" ON {', '.join(columns)} INTO NAME name VALUE value) WHERE value <> '' GROUP BY name"
    ).fetchall()
    return {
        name: frozenset(way for way, holds in zip(ways, held, strict=True) if holds)
        for name, *held in answers
    }


def _decision(table: Table, column: str, read: Sequence[Form], options: LoadOptions) -> Decision:
    """Choose the form of a field among those that all its values are of."""
    if not read:
        return Decision(TEXT)
    if len(read) > 1:
        return _between_rivals(table, column, read, options)
    return _doubted(table, column, read[0])


def _between_rivals(
    table: Table, column: str, rivals: Sequence[Form], options: LoadOptions
) -> Decision:
    """Leave a field as text that can be read in two ways, unless the order of dates is chosen."""
    for form in rivals:
        if form.notation == options.date_order:
            return Decision(form, reason=DecidedByOrder(type=form.title))
    ambiguous = AmbiguousNumbers if rivals[0].kind.name not in _MOMENTS else AmbiguousDates
    remark = ambiguous(
        field=_name(table, column),
        value=_example(table, column, "true" if ambiguous is AmbiguousDates else _HAS_COMMA),
        one=rivals[0].name,
        other=rivals[1].name,
    )
    return Decision(TEXT, reason=remark, remark=remark)


_HAS_COMMA = "contains({v}, ',')"
#: Numbers whose decimals, if they have any, are three: figures of thousands, perhaps.
_LIKE_THOUSANDS = r"regexp_full_match({v}, '-?[1-9][0-9]{0,2}(\.[0-9]{3})?')"


def _doubted(table: Table, column: str, form: Form) -> Decision:
    """Take a form, but say so where its figures may be meant in another way."""
    name = _name(table, column)
    if form.notation == "spaced" and _are_codes(table, column):
        remark: Remark = GroupedCodes(
            field=name, value=_example(table, column, "true"), other=form.name
        )
        return Decision(TEXT, reason=remark, remark=remark)
    if form is forms["numeric"] and _all(table, column, _LIKE_THOUSANDS):
        value = _example(table, column, "contains({v}, '.')")
        return Decision(form, remark=MaybeThousands(field=name, value=value, other="int4:comma"))
    return Decision(form)


def _all(table: Table, column: str, condition: str) -> bool:
    """Ask whether all values meet a condition; most are refuted by the first rows."""
    start = f"(SELECT * FROM {STAGED} LIMIT {_FIRST_ROWS})"
    return all(
        condition in _held_of(table, relation, [column], [condition]).get(column, {condition})
        for relation in (start, STAGED)
    )


def _are_codes(table: Table, column: str) -> bool:
    found = table.connection.execute(
        f"SELECT min(length({column})), max(length({column})) FROM {STAGED} WHERE {column} <> ''"
    ).fetchone()
    shortest, longest = found or (0, 0)
    return bool(shortest == longest >= _CODE_LETTERS)


def _example(table: Table, column: str, condition: str) -> str:
    found = table.connection.execute(
        f"SELECT {column}[:100] FROM {STAGED} WHERE {column} <> ''"
        f" AND {FieldType.over(condition, column)} LIMIT 1"
    ).fetchone()
    return str(found[0]) if found else ""


# Why ----------------------------------------------------------------------------------------------


def _explained(table: Table, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Say of each decision why it was made."""
    unsaid = [c for c, made in decisions.items() if made.kind.is_text and not _said(made)]
    reasons = reasons_for_text(table, unsaid)
    return {
        column: replace(made, reason=_said(made) or reasons.get(column))
        for column, made in decisions.items()
    }


def _said(decision: Decision) -> Remark | None:
    if decision.reason:
        return decision.reason
    if decision.chosen:
        return ChosenType(type=decision.form.title)
    if decision.told:
        return ToldType(type=decision.form.title)
    return None if decision.kind.is_text else EveryValue(type=decision.form.title)

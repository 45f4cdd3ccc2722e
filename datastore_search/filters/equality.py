"""
Equality in SQL: containment of a JSON document that holds field and value.

The index answers it, and the planner estimates it (``docs/decisions/0004``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import sql

from ..database.statements import Clause, join_clauses
from ..field_types import Cast, FieldType, Json, dump_json, parse_values
from ..field_types import NotOfType as NotStorable
from ..field_types import ValuesNotOfType as NotOfType
from ..messages import shorten
from ..messages.search import InvalidFilterValue
from .words import fold_case, remove_diacritics

#: Letters that a message repeats of a name or a value.
MAX_SHOWN_LENGTH = 100

#: Up to this many values, each is looked up in the index; above, the field is compared with all.
_MAX_INDEXED_VALUES = 10


@dataclass(frozen=True, slots=True)
class TypedFields:
    """
    The fields that conditions may name.

    ``types`` maps their names to the names of their types, and ``cast`` reads texts as a type, in
    PostgreSQL.  Some records have no ``sparse`` fields; that is null.
    ``estimate_share`` estimates the share of the records that match a pattern of the index of
    substrings; without that index it is None.  ``compiled`` are the conditions that were compiled
    for these fields, by their identity, so that a page compiles each once.
    """

    types: Mapping[str, str]
    cast: Cast
    sparse: frozenset[str] = frozenset()
    estimate_share: Callable[[str], float] | None = None
    compiled: dict[int, tuple[object, Clause]] = field(default_factory=dict, compare=False)


def read_values(
    name: str,
    kind: FieldType,
    read: Callable[[Json], str | None],
    values: Sequence[Json],
    cast: Cast,
) -> list[str | None]:
    """Read values as a type, in its canonical texts; None for a value that no record can have."""
    try:
        return parse_values(kind.name, read, values, cast)
    except NotOfType as error:
        try:
            text = dump_json(error.refused[0].value)
        except NotStorable:
            text = repr(error.refused[0].value)
        shown = shorten(text, MAX_SHOWN_LENGTH)
        raise InvalidFilterValue(field=name, type=kind.name, value=shown) from None


def compile_in(
    name: str, kind: FieldType, texts: Sequence[str | None], fields: TypedFields
) -> Clause:
    """Compare a field with canonical texts; None equals nothing."""
    given = [text for text in texts if text is not None]
    clauses: list[Clause] = []
    if len(given) > _MAX_INDEXED_VALUES:
        clauses = [Clause(sql.SQL("data -> %s = ANY(%s::jsonb[])"), [name, given])]
    else:
        for text in given:
            clause = Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])
            if text[0] in "[{" and kind.is_nested:  # it also contains smaller ones
                equal = Clause(sql.SQL("data -> %s = %s::jsonb"), [name, text])
                clause = join_clauses([clause, equal], "AND")
            clauses.append(clause)
    if "null" in given and name in fields.sparse:
        clauses.append(Clause(sql.SQL("NOT data ? %s"), [name]))
    return join_clauses(clauses, "OR")


#: Of longer texts case counts: the search vector has no word of more than 2 kB.
_MAX_FOLDED_LENGTH = 500


def compile_equality_ignoring_case(name: str, kind: FieldType, value: str, cast: Cast) -> Clause:
    """
    Compare a text field with a text, ignoring case.

    The index of equality finds the exact text, and the index of words finds other spellings.  Words
    after the first 100,000 letters of a record have no index: there, case counts.
    """
    (text,) = read_values(name, kind, kind.parse_operand, [value], cast)
    exact = compile_in(name, kind, [text], TypedFields({}, cast))
    if len(value) > _MAX_FOLDED_LENGTH or value.lower() == value.upper():
        return exact
    spelling: LiteralString = f"replace({fold_case(value, 'iIıİ')}, 'ß', 'ss')"
    is_found: LiteralString = (
        "search @@ plainto_tsquery('pg_catalog.simple', datastore_search_words(%s))"
    )
    sought = [value]
    if not value.isascii() and not {*"Iıİ"}.isdisjoint(value):
        # The vector has i for ı among the words without diacritics.
        is_found, sought = f"({is_found} OR {is_found})", [value, remove_diacritics(value)]
    operands = (sql.SQL(spelling).format(sql.SQL(each)) for each in ("(data ->> %s)", "%s::text"))
    count = spelling.count("{0}")
    folded = Clause(
        sql.SQL("({} AND ({} = {}) IS TRUE)").format(sql.SQL(is_found), *operands),
        [*sought, *[name] * count, *[value] * count],
    )
    return join_clauses([exact, folded], "OR")


def negate(clause: Clause) -> Clause:
    """Compile the opposite of a condition."""
    return Clause(sql.SQL("NOT {}").format(clause.text), clause.parameters)

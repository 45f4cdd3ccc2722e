"""A piece of SQL with its parameters, and how pieces are put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, LiteralString

from psycopg import sql


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of SQL and its parameters, in order."""

    text: sql.Composable
    parameters: list[Any] = field(default_factory=list)


FALSE = Clause(sql.SQL("false"))
TRUE = Clause(sql.SQL("true"))


def compose(template: LiteralString, *clauses: Clause) -> Clause:
    """Fill the placeholders of a template with clauses, in order."""
    return Clause(
        sql.SQL(template).format(*[clause.text for clause in clauses]),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def join_with_commas(clauses: Iterable[Clause]) -> Clause:
    """Join clauses with commas between them."""
    clauses = list(clauses)
    return Clause(
        sql.SQL(", ").join([clause.text for clause in clauses]),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def join_clauses(clauses: Sequence[Clause], operator: Literal["AND", "OR"]) -> Clause:
    """Join clauses by AND, which is true of none, or by OR, which is false of none."""
    if len(clauses) == 1:
        return clauses[0]
    if not clauses:
        return TRUE if operator == "AND" else FALSE
    return Clause(
        sql.SQL("({})").format(sql.SQL(f" {operator} ").join([each.text for each in clauses])),
        [parameter for clause in clauses for parameter in clause.parameters],
    )

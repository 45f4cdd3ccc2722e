"""
The operators of ``filters``: one table, from which grammar, SQL, pages and documents derive.

Source: CKAN 2.12 for ``eq``, ``in``, ``lt``, ``lte``, ``gt`` and ``gte``; it has no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from itertools import product
from operator import add
from typing import LiteralString

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from psycopg import sql

from ..database.statements import FALSE, Clause, join_clauses
from ..field_types import FieldType, Json, Operators, dump_json
from ..messages.search import InvalidFilterOperand
from .equality import TypedFields, compile_equality_ignoring_case, compile_in, negate, read_values
from .words import WITHOUT_ACCENTS, build_pattern, compile_candidates, fold_case

#: A record that the index finds costs about ten times one that is read in the order of the table.
_MAX_CANDIDATES_SHARE = 0.1


class Operand(Enum):
    """What is sent with an operator; of ``VALUE``, the type of the field decides."""

    VALUE = auto()
    LIST = auto()
    TEXT = auto()
    BOOLEAN = auto()


@dataclass(frozen=True, slots=True)
class Comparing:
    """A field that is compared with an operand by an operator."""

    field: str
    kind: FieldType
    operator: str
    operand: Json
    fields: TypedFields

    def compile_in(self) -> Clause:
        """Compile that the field equals the operand."""
        texts = read_values(
            self.field, self.kind, self.kind.parse_operand, [self.operand], self.fields.cast
        )
        return compile_in(self.field, self.kind, texts, self.fields)

    def require_text(self) -> str:
        """
        Return the operand, which must be a text.

        Raises: ``InvalidFilterOperand``.
        """
        if not isinstance(self.operand, str):
            raise InvalidFilterOperand(field=self.field, operator=self.operator)
        return self.operand


@dataclass(frozen=True, slots=True)
class Operator:
    """
    One operator.

    ``compile`` compiles a comparison; None where the type of the field does not have the operator.
    ``words`` are those of a condition with ``%(field)s`` and ``%(value)s`` on a page; ``label`` is
    between a field and a value in a form, which offers no operator without one.  With ``order`` it
    compares ``_id``, too, by this operator of SQL.  Only the index of substrings answers one that
    ``counts_as_text``: a query may have few of these.
    """

    name: str
    help: str | Promise
    words: str | Promise
    compile: Callable[[Comparing], Clause | None]
    operand: Operand = Operand.VALUE
    order: str = ""
    counts_as_text: bool = False
    label: str | Promise = ""


# Equality -----------------------------------------------------------------------------------------


def _compile_different(asked: Comparing) -> Clause:
    return negate(asked.compile_in())


def _compile_equal_ignoring_case(asked: Comparing) -> Clause | None:
    if not asked.kind.is_text:
        return None
    text = asked.require_text()
    return compile_equality_ignoring_case(asked.field, asked.kind, text, asked.fields.cast)


def _compile_different_ignoring_case(asked: Comparing) -> Clause | None:
    equal = _compile_equal_ignoring_case(asked)
    return equal and negate(equal)


def _compile_empty(asked: Comparing) -> Clause:
    empty = compile_in(asked.field, asked.kind, ["null"], asked.fields)
    return empty if asked.operand else negate(empty)


# Order --------------------------------------------------------------------------------------------


def _compile_order(asked: Comparing) -> Clause | None:
    name, kind = asked.field, asked.kind
    if Operators.ORDER not in kind.operators:
        return None
    (text,) = read_values(name, kind, kind.parse_bound, [asked.operand], asked.fields.cast)
    if text == "null":
        return FALSE
    return Clause(
        sql.SQL("{field} {operator} {bound}").format(
            field=compile_field_key(kind),
            operator=sql.SQL(operators[asked.operator].order),
            bound=compile_value_key(kind, sql.SQL("%s::jsonb")),
        ),
        [name, text],
    )


def compile_field_key(kind: FieldType) -> sql.Composed:
    """Compile the key by which a field is sorted and compared; its name is the one parameter."""
    return sql.SQL(kind.sort_expression).format(
        v=sql.SQL("(data -> %s)"), t=sql.SQL("(data ->> %s)")
    )


def compile_value_key(kind: FieldType, value: sql.Composable) -> sql.Composed:
    """Compile the key by which a jsonb value is sorted and compared."""
    return sql.SQL(kind.sort_expression).format(v=value, t=sql.SQL("({} #>> '{{}}')").format(value))


# Parts --------------------------------------------------------------------------------------------


_HAS_PART: LiteralString = "strpos({}, {}) > 0"
_HAS_START: LiteralString = "starts_with({}, {})"

#: One letter with two spellings; of so many in a part, each is sought in both.
_SHARP_S = re.compile("ss|ß", re.IGNORECASE)
_MAX_SHARP_S = 3


def _compile_part(
    asked: Comparing, condition: LiteralString, spelling: LiteralString = "{0}"
) -> Clause | None:
    """Search for a part of a text by a condition; by the index where it finds few candidates."""
    if Operators.TEXT not in asked.kind.operators:
        return None
    part, fields = asked.require_text(), asked.fields
    operands = (sql.SQL(spelling).format(sql.SQL(each)) for each in ("(data ->> %s)", "%s::text"))
    count = spelling.count("{0}")
    exact = Clause(sql.SQL(condition).format(*operands), [asked.field] * count + [part] * count)
    is_indexed = fields.estimate_share and asked.operator[0] != "u"  # it knows letters as they are
    ignores_case = asked.operator[0] == "i"
    pattern = build_pattern(part, ignores_case=ignores_case) if is_indexed else None
    if not pattern or not fields.estimate_share:
        return exact
    if fields.estimate_share(pattern) > _MAX_CANDIDATES_SHARE:
        return exact
    candidates = compile_candidates(pattern, ignores_case=ignores_case)
    return join_clauses([exact, candidates], "AND")


def _compile_part_ignoring_case(asked: Comparing, condition: LiteralString) -> Clause | None:
    """Search for each spelling of a part, as the index knows each by itself."""
    if Operators.TEXT not in asked.kind.operators:
        return None
    pieces = _SHARP_S.split(asked.require_text(), maxsplit=_MAX_SHARP_S)
    choices = product(("ss", "ß"), repeat=len(pieces) - 1)
    parts = ("".join(map(add, pieces, [*letters, ""])) for letters in choices)
    clauses = (_compile_part(replace(asked, operand=p), condition, fold_case(p)) for p in parts)
    first, *others = (clause for clause in clauses if clause)
    if not others:
        return first
    # Only a text that is not ASCII has ß, and that is fast to see.
    has_others = sql.SQL("octet_length(data ->> %s) > char_length(data ->> %s)")
    others = [Clause(has_others, [asked.field] * 2), join_clauses(others, "OR")]
    return join_clauses([first, join_clauses(others, "AND")], "OR")


def _compile_contains(asked: Comparing) -> Clause | None:
    """Search for an element of a list, for a part of a JSON value, or for a part of a text."""
    name, kind, value = asked.field, asked.kind, asked.operand
    if Operators.CONTAINS not in kind.operators:
        return _compile_part(asked, _HAS_PART)
    operand = value if kind.name == "json" or isinstance(value, list) else [value]
    if value is None and kind.name != "json":
        raise InvalidFilterOperand(field=name, operator="contains")
    (text,) = read_values(
        name, kind, kind.parse_operand, [operand], lambda _kind, texts: [None] * len(texts)
    )
    return Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])


# The table ----------------------------------------------------------------------------------------

_EQUAL, _DIFFERENT = _("%(field)s: %(value)s"), _("%(field)s is not %(value)s")
_CONTAINS = _("%(field)s contains “%(value)s”")
_BEGINS = _("%(field)s begins with “%(value)s”")
_SIGNS = {"<=": "≤", ">=": "≥"}


def _build_order(
    name: str, about: str | Promise, order: str, label: str | Promise = ""
) -> Operator:
    """Build an operator of order; its sign is the same in every language."""
    words = f"%(field)s {_SIGNS.get(order, order)} %(value)s"
    return Operator(name, about, words, _compile_order, order=order, label=label)


def _build_match(
    name: str,
    about: str | Promise,
    words: str | Promise,
    condition: LiteralString,
    label: str | Promise = "",
) -> Operator:
    """Build an operator on parts of texts, compared as the first letter of its name says."""
    run = partial(_compile_part, condition=condition)
    if name.startswith("i"):
        run = partial(_compile_part_ignoring_case, condition=condition)
    elif name.startswith("u"):
        run = partial(_compile_part, condition=condition, spelling=WITHOUT_ACCENTS)
    return Operator(name, about, words, run, Operand.TEXT, counts_as_text=True, label=label)


operators: Mapping[str, Operator] = {
    operator.name: operator
    for operator in (
        Operator(
            "eq",
            _("Equal; a list is the value of a list field."),
            _EQUAL,
            Comparing.compile_in,
            label=pgettext_lazy("operator", "is"),
        ),
        Operator(
            "ieq",
            _("Equal to the text, ignoring case; for text fields."),
            _EQUAL,
            _compile_equal_ignoring_case,
            Operand.TEXT,
        ),
        Operator(
            "in", _("Equal to one of the values."), _EQUAL, Comparing.compile_in, Operand.LIST
        ),
        _build_order("lt", _("Less than."), "<"),
        _build_order("lte", _("Less than or equal to."), "<=", pgettext_lazy("operator", "to")),
        _build_order("gt", _("Greater than."), ">"),
        _build_order(
            "gte", _("Greater than or equal to."), ">=", pgettext_lazy("operator", "from")
        ),
        Operator(
            "ne",
            _("Not equal; finds empty cells too."),
            _DIFFERENT,
            _compile_different,
            label=pgettext_lazy("operator", "is not"),
        ),
        Operator(
            "ine",
            _("Not equal to the text, ignoring case; finds empty cells too."),
            _DIFFERENT,
            _compile_different_ignoring_case,
            Operand.TEXT,
        ),
        Operator(
            "contains",
            _("Contains the text, or, in a list or JSON field, the value."),
            _CONTAINS,
            _compile_contains,
            counts_as_text=True,
            label=pgettext_lazy("operator", "contains"),
        ),
        _build_match("icontains", _("Contains the text, ignoring case."), _CONTAINS, _HAS_PART),
        _build_match(
            "ucontains",
            _("Contains the text, ignoring case and accents."),
            _("%(field)s contains “%(value)s” (ignoring accents)"),
            _HAS_PART,
        ),
        _build_match(
            "startswith",
            _("Begins with the text."),
            _BEGINS,
            _HAS_START,
            pgettext_lazy("operator", "begins with"),
        ),
        _build_match("istartswith", _("Begins with the text, ignoring case."), _BEGINS, _HAS_START),
        _build_match(
            "ustartswith",
            _("Begins with the text, ignoring case and accents."),
            _("%(field)s begins with “%(value)s” (ignoring accents)"),
            _HAS_START,
        ),
        Operator(
            "isnull",
            _("Whether the cell is empty."),
            _EQUAL,
            _compile_empty,
            Operand.BOOLEAN,
            label=pgettext_lazy("operator", "is empty"),
        ),
    )
}

TEXT_OPERATORS = tuple(each.name for each in operators.values() if each.counts_as_text)

#: Those that the index of substrings answers.
INDEXED_OPERATORS = tuple(name for name in TEXT_OPERATORS if not name.startswith("u"))

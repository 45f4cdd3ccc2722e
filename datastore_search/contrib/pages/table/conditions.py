"""The conditions in a page's address, ``<operator>.<field>=<value>``, split at the first dot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from ....field_types import Operators, field_types, is_storable
from ....filters import And, Comparison, Condition, In, Or, TypedFields, compile_conditions
from ....filters.operators import Operand, Operator, operators
from ....messages.parameters import InvalidParameters
from ....messages.search import UnsupportedOperator
from ....models import Field
from .typed_values import describe_type_error, parse_end_of_day, parse_typed_value

#: The first operators of the form, with their names in addresses; others have their own.
_NAMES = {
    "eq": "field",
    "ne": "not",
    "contains": "contains",
    "startswith": "starts",
    "gte": "from",
    "lte": "to",
    "isnull": "empty",
}

#: The operators of addresses, in the order of the form.
OPERATORS: Mapping[str, Operator] = {
    _NAMES.get(name, name): operators[name]
    for name in dict.fromkeys((*_NAMES, *operators))
    if operators[name].label
}

#: What the form offers in addition: another value of ``empty``.
NOT_EMPTY = "filled"
NOT_EMPTY_LABEL = pgettext_lazy("operator", "is not empty")

#: The values of ``empty``.
IS_EMPTY = {"yes": True, "no": False}

YES_OR_NO = {"true": gettext_lazy("yes"), "false": gettext_lazy("no")}


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """
    One condition of an address, with its values as they were typed.

    Exactly one of ``condition`` and ``error`` is not empty.
    """

    operator: str
    field: Field
    values: tuple[str, ...]
    condition: Condition | None = None
    error: str = ""

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return f"{self.operator}.{self.field.name}"


def split_parameter(name: str) -> tuple[str, str] | None:
    """Split the name of a parameter into operator and field; None for another parameter."""
    operator, dot, field = name.partition(".")
    return (operator, field) if dot and operator in OPERATORS else None


def parse_field_condition(
    operator: str, field: Field, values: Sequence[str], fields: TypedFields
) -> FieldCondition:
    """Parse and check a condition; several values of ``field`` are alternatives."""
    typed = tuple(values)
    if not all(map(is_storable, typed)):
        error = _("The text contains a character that cannot be stored.")
        return FieldCondition(operator, field, typed, error=error)
    conditions: list[Condition] = []
    for value in typed:
        condition = _build_condition(OPERATORS[operator], field, value)
        error = _("This condition cannot be used with this field.")
        try:
            if condition:
                compile_conditions([condition], fields)
        except InvalidParameters as refused:
            condition = None
            if not isinstance(refused.errors[0], UnsupportedOperator):
                error = describe_type_error(field.type, value)
        if condition is None:
            return FieldCondition(operator, field, typed, error=error)
        conditions.append(condition)
    return FieldCondition(operator, field, typed, _join(operator, conditions))


def _join(operator: str, conditions: list[Condition]) -> Condition:
    if len(conditions) == 1:
        return conditions[0]
    if operator != "field":
        return And(tuple(conditions))
    equalities = [each for each in conditions if isinstance(each, In)]
    if len(equalities) == len(conditions):
        values = (value for each in equalities for value in each.values)
        return In(equalities[0].field, tuple(values))
    return Or(tuple(conditions))


# From an operator and a typed value to a condition; None where the type does not have it ----------


def _build_condition(operator: Operator, field: Field, value: str) -> Condition | None:
    """Build a condition; one on a part of a text ignores case where an operator does so."""
    if operator.name in _BUILDERS:
        return _BUILDERS[operator.name](field, value)
    if operator.operand is Operand.TEXT:
        ignoring_case = f"i{operator.name}"
        name = ignoring_case if ignoring_case in operators else operator.name
        return Comparison(field.name, name, value)
    return Comparison(field.name, operator.name, parse_typed_value(field.type, value))


def _build_equality(field: Field, value: str) -> Condition:
    if field_types[field.type].is_text and value.lower() != value.upper():
        return Comparison(field.name, "ieq", value)
    # Without letters of two cases, the number of records may be among the stored counts.
    return In(field.name, (parse_typed_value(field.type, value),))


def _build_inequality(field: Field, value: str) -> Condition:
    if field_types[field.type].is_text:
        return Comparison(field.name, "ine", value)
    return Comparison(field.name, "ne", parse_typed_value(field.type, value))


def _build_contains(field: Field, value: str) -> Condition | None:
    suitable = field_types[field.type].operators
    if Operators.TEXT in suitable:
        return Comparison(field.name, "icontains", value)
    is_list = field_types[field.type].is_list
    return Comparison(field.name, "contains", value) if is_list else None


def _build_bound(operator: str, field: Field, value: str) -> Condition | None:
    """Compare with a bound; a timestamp up to a day is one before the next day."""
    if field_types[field.type].ordered is None:
        return None
    if operator == "lte" and (following := parse_end_of_day(field.type, value)):
        return Comparison(field.name, "lt", following)
    return Comparison(field.name, operator, parse_typed_value(field.type, value))


def _build_emptiness(field: Field, value: str) -> Condition | None:
    if value not in IS_EMPTY:
        return None
    return Comparison(field.name, "isnull", IS_EMPTY[value])


_BUILDERS: Mapping[str, Callable[[Field, str], Condition | None]] = {
    "eq": _build_equality,
    "ne": _build_inequality,
    "contains": _build_contains,
    "gte": partial(_build_bound, "gte"),
    "lte": partial(_build_bound, "lte"),
    "isnull": _build_emptiness,
}

"""The filter form of a data page: inputs of the first fields, and one for any condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ....field_types import field_types
from ....models import Field, Profiles, Resource
from .columns import Column
from .conditions import (
    NOT_EMPTY,
    NOT_EMPTY_LABEL,
    OPERATORS,
    YES_OR_NO,
    FieldCondition,
)
from .page_query import CHOSEN_VALUE, PageQuery
from .profiles import MAX_PROFILED_LENGTH
from .query_string import Pair
from .typed_values import parse_typed_value

#: The fields with inputs of their own.
MAX_FIELDS = 12

#: Fields of a table up to which each is offered for another condition, or else those shown.
_MAX_OPTIONS = 200

#: Different values of a field whose most common ones are suggested.
_MAX_SUGGESTED_DISTINCT = 50


@dataclass(frozen=True, slots=True)
class Input:
    """
    One input: its ``value`` comes from the address, as typed.

    The browser offers the ``suggestions`` while a user types.
    """

    id: str
    name: str
    operator_label: str
    value: str
    attributes: Mapping[str, str]
    choices: tuple[Pair, ...] = ()
    error: str = ""
    suggestions: tuple[str, ...] = ()


#: A field and its inputs: one, or two for the ends of a range.
InputGroup = tuple[Column, tuple[Input, ...]]


class FilterForm:
    """The form that asks for what a page query asks for, and for more."""

    def __init__(
        self,
        resource: Resource,
        columns: Iterable[Column],
        shown: Iterable[Column],
        query: PageQuery,
        profiles: Profiles | None,
    ) -> None:
        """Take a described resource, its columns, those shown, and the profiles of its fields."""
        self._columns = {column.name: column for column in columns}
        self._shown = tuple(shown)
        self._profiles = profiles.fields if profiles else {}
        self._fields = resource.schema
        self._query = query
        self._asked = {each.parameter: each for each in query.conditions}

    @cached_property
    def groups(self) -> list[InputGroup]:
        """The inputs of the first fields, and inputs with values that cannot be read."""
        groups = [
            self._build_group(position, field, operators)
            for position, field in enumerate(self._fields)
            if (operators := _choose_operators(field))
        ][:MAX_FIELDS]
        known = {each.name for _column, inputs in groups for each in inputs}
        for position, condition in enumerate(self._query.conditions):
            if condition.error and condition.parameter not in known:
                field, operator = condition.field, condition.operator
                groups.append(self._build_group(f"wrong-{position}", field, (operator,)))
        return groups

    @cached_property
    def hidden(self) -> tuple[Pair, ...]:
        """The parameters that have no input, as hidden inputs keep them."""
        names = {each.name for _column, inputs in self.groups for each in inputs}
        shown = {
            (name, condition.values[0]) for name, condition in self._asked.items() if name in names
        }
        return tuple(
            (name, value)
            for name, value in self._query.query_string.pairs
            if name not in ("q", CHOSEN_VALUE) and (name, value) not in shown
        )

    @property
    def has_errors(self) -> bool:
        """Return whether something cannot be read that the form has."""
        return bool(self._query.errors) or any(each.error for each in self._query.conditions)

    @cached_property
    def fields(self) -> tuple[Column, ...]:
        """The fields that another condition may be on: all, or those that are shown."""
        columns = tuple(self._columns.values())
        return columns if len(columns) <= _MAX_OPTIONS else self._shown

    @property
    def has_other_fields(self) -> bool:
        """Return whether some fields are not offered."""
        return len(self.fields) < len(self._columns)

    @property
    def operators(self) -> list[Pair]:
        """The operators of a condition, and their words."""
        offered = [(name, str(operator.label)) for name, operator in OPERATORS.items()]
        return [*offered, (NOT_EMPTY, str(NOT_EMPTY_LABEL))]

    @property
    def chosen_value(self) -> str:
        """The value that was sent without its field."""
        return dict(self._query.query_string.pairs).get(CHOSEN_VALUE, "")

    def _build_group(
        self, position: int | str, field: Field, operators: tuple[str, ...]
    ) -> InputGroup:
        suggestions = tuple(self._list_suggestions(field))
        inputs = tuple(
            build_input(
                f"field-{position}-{operator}",
                field,
                operator,
                self._asked.get(f"{operator}.{field.name}"),
                suggestions if operator == "field" else (),
            )
            for operator in operators
        )
        return self._columns[field.name], inputs

    def _list_suggestions(self, field: Field) -> Iterator[str]:
        """List the most common values of a text with few values."""
        profile, kind = self._profiles.get(field.name, {}), field_types[field.type]
        if not kind.is_text or profile.get("distinct", 0) > _MAX_SUGGESTED_DISTINCT:
            return
        for each in profile.get("top", ()):
            value = str(each["value"])
            if len(value) < MAX_PROFILED_LENGTH and value.strip():
                yield value


def build_input(
    id_: str,
    field: Field,
    operator: str,
    asked: FieldCondition | None,
    suggestions: tuple[str, ...] = (),
) -> Input:
    """Build the input of a condition, with what is asked for, if that is something."""
    value, error = (asked.values[0], asked.error) if asked else ("", "")
    kind = field_types[field.type]
    attributes = kind.input_attributes
    if "type" in attributes:
        # The browser's own input, for a day, would hide a value that is wrong.
        attributes = {} if error else attributes
        value = value if error else parse_typed_value(kind.name, value)
    is_choice = kind.is_boolean and not error
    return Input(
        id_,
        f"{operator}.{field.name}",
        "" if operator == "field" else str(OPERATORS[operator].label),
        value,
        attributes,
        tuple((key, str(label)) for key, label in YES_OR_NO.items()) if is_choice else (),
        error,
        suggestions,
    )


def _choose_operators(field: Field) -> tuple[str, ...]:
    """Choose the operators with inputs: a range, or equality; none for lists and JSON."""
    kind = field_types[field.type]
    if kind.has_range:
        return ("from", "to")
    return () if kind.is_nested else ("field",)

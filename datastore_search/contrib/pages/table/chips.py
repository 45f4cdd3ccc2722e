"""The chips of a data page: its conditions, each with a button that removes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from ....field_types import Json, dump_json_as_sent
from ....filters import And, Comparison, Condition, In, Or
from ....filters.operators import Operator, operators
from ....messages import shorten
from ....messages.bidi import show_bidi_controls
from ....search import ID
from ..api_parameters import format_filters
from ..languages import Phrase, compose_phrase, join_phrases, mark_text
from .columns import Column
from .conditions import IS_EMPTY, OPERATORS, YES_OR_NO, FieldCondition
from .page_query import PageQuery
from .query_string import write_change

#: Letters of a value on a chip.
_MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Chip:
    """The words of one part of a query, and the change that removes it."""

    text: Phrase
    change: str


def build_chips(query: PageQuery, columns: Iterable[Column]) -> list[Chip]:
    """Make a chip of each part of a query, in the words of the columns of all fields."""
    return list(_ChipBuilder(query, columns).build())


#: In place of the parts beyond the first ones.
_MORE = mark_text("…")


class _ChipBuilder:
    def __init__(self, query: PageQuery, columns: Iterable[Column]) -> None:
        self._query, self._columns = query, {column.name: column for column in columns}

    def build(self) -> Iterator[Chip]:
        query = self._query
        if query.q:
            text = compose_phrase(_("Search: %(words)s"), words=_shorten(query.q))
            yield Chip(text, write_change("q"))
        for condition in query.conditions:
            for value, text in self._describe_own(condition):
                yield Chip(text, write_change(f"-{condition.parameter}", value))
        for each in query.filters:
            kept = [other for other in query.filters if other is not each]
            rest = [dump_json_as_sent(format_filters(kept))] if kept else []
            yield Chip(self.describe(each), write_change("filters", *rest))
        if query.sort:
            arrows = {False: "↑", True: "↓"}
            keys = [
                join_phrases(" ", [self._label(key.field), mark_text(arrows[key.descending])])
                for key in query.sort
            ]
            text = compose_phrase(_("Sorted by %(fields)s"), fields=join_phrases(", ", keys))
            yield Chip(text, write_change("sort"))
        for name in query.hidden:
            text = compose_phrase(_("Hidden: %(field)s"), field=self._label(name))
            yield Chip(text, write_change("-hide", name))
        if query.fields:
            yield Chip(mark_text(_("Chosen columns")), write_change("fields"))

    def _describe_own(self, condition: FieldCondition) -> Iterator[tuple[str, Phrase]]:
        """Describe each value of a condition as it was typed."""
        for value in condition.values:
            name, operator = condition.field.name, OPERATORS[condition.operator]
            if operator.name == "isnull":
                yield value, self._describe_empty(name, is_empty=bool(IS_EMPTY.get(value)))
            elif condition.field.type == "bool":
                shown = mark_text(str(YES_OR_NO.get(value, _shorten(value))))
                yield value, self._describe(name, operator, shown)
            else:
                yield value, self._describe(name, operator, self._mark(name, _shorten(value)))

    def _describe_empty(self, name: str, *, is_empty: bool) -> Phrase:
        template = _("%(field)s is empty") if is_empty else _("%(field)s is not empty")
        return compose_phrase(template, field=self._label(name))

    def _describe(self, name: str, operator: Operator, value: Phrase) -> Phrase:
        return compose_phrase(str(operator.words), field=self._label(name), value=value)

    def _label(self, name: str) -> Phrase:
        if name == ID:
            return mark_text(_("No."))
        return self._columns[name].marked_label if name in self._columns else mark_text(name)

    def _mark(self, name: str, value: str) -> Phrase:
        """Mark a value with the language of the values of its field."""
        return mark_text(value, self._columns[name].value_language if name in self._columns else "")

    def _format_value(self, name: str, value: Json) -> Phrase:
        if value is None:
            return mark_text(_("empty"))
        if isinstance(value, bool):
            return mark_text(str(YES_OR_NO["true" if value else "false"]))
        return self._mark(
            name, _shorten(value if isinstance(value, str) else dump_json_as_sent(value))
        )

    def describe(self, condition: Condition) -> Phrase:
        """Describe a condition of the API."""
        match condition:
            case And(conditions=(single,)) | Or(conditions=(single,)):
                return self.describe(single)
            case And() | Or():
                parts = [self._describe_member(each) for each in condition.conditions[:10]]
                parts += [_MORE] if len(condition.conditions) > len(parts) else []
                is_and = isinstance(condition, And)
                word = pgettext("conditions", " and ") if is_and else pgettext("conditions", " or ")
                return join_phrases(word, parts)
            case In() if condition.values == (None,):
                return self._describe_empty(condition.field, is_empty=True)
            case In():
                name = condition.field
                values = [self._format_value(name, value) for value in condition.values[:10]]
                values += [_MORE] if len(condition.values) > len(values) else []
                shown = join_phrases(pgettext("conditions", " or "), values)
                return self._describe(name, operators["in"], shown)
            case Comparison(operator="isnull"):
                return self._describe_empty(condition.field, is_empty=bool(condition.value))
            case Comparison():
                name, value = condition.field, self._format_value(condition.field, condition.value)
                return self._describe(name, operators[condition.operator], value)

    def _describe_member(self, condition: Condition) -> Phrase:
        """Describe a condition of a group, in brackets if it joins others itself."""
        match condition:
            case And(conditions=(single,)) | Or(conditions=(single,)):
                return self._describe_member(single)
            case And() | Or():
                return self._bracket(condition)
            case In() if len(condition.values) > 1:
                return self._bracket(condition)
            case _:
                return self.describe(condition)

    def _bracket(self, condition: Condition) -> Phrase:
        return compose_phrase("(%(condition)s)", condition=self.describe(condition))


def _shorten(text: str) -> str:
    return shorten(show_bidi_controls(text), _MAX_VALUE_LENGTH)

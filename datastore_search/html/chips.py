"""The chips of a data page: what is asked for, each with a link that leaves it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from ..field_types import Json, dump_json_as_sent
from ..filters import And, Comparison, Condition, In, Or
from ..messages import shorten
from ..search import ID
from .api_parameters import format_filters
from .bidi import show_bidi_controls
from .conditions import IS_EMPTY, YES_OR_NO, FieldCondition
from .page_query import PageQuery
from .query_string import QueryString

#: Letters of a value on a chip.
_MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Chip:
    """The words of one part of a query, and the link to the query without it."""

    text: str
    link: str


def build_chips(query: PageQuery, labels: Mapping[str, str]) -> list[Chip]:
    """Make a chip of each part of a query; ``labels`` maps the fields' names to what is shown."""
    return list(_ChipBuilder(query, labels).build())


class _ChipBuilder:
    def __init__(self, query: PageQuery, labels: Mapping[str, str]) -> None:
        self._query, self._labels = query, labels

    def build(self) -> Iterator[Chip]:
        query, address = self._query, self._query.query_string
        if query.q:
            text = _("Search: %(words)s") % {"words": _shorten(query.q)}
            yield Chip(text, address.remove("q").link)
        for condition in query.conditions:
            for value, text in self._describe_own(condition):
                yield Chip(text, address.remove_pairs((condition.parameter, value)).link)
        for position, each in enumerate(query.filters):
            yield Chip(self.describe(each), self._leave_out(address, position))
        if query.sort:
            arrows = {False: "↑", True: "↓"}
            keys = [f"{self._label(key.field)} {arrows[key.descending]}" for key in query.sort]
            text = _("Sorted by %(fields)s") % {"fields": ", ".join(keys)}
            yield Chip(text, address.remove("sort").link)
        for name in query.hidden:
            text = _("Hidden: %(field)s") % {"field": self._label(name)}
            yield Chip(text, address.remove_pairs(("hide", name)).link)
        if query.fields:
            yield Chip(_("Chosen columns"), address.remove("fields").link)

    def _leave_out(self, address: QueryString, position: int) -> str:
        rest = [each for number, each in enumerate(self._query.filters) if number != position]
        values = [dump_json_as_sent(format_filters(rest))] if rest else []
        return address.replace("filters", *values).link

    def _describe_own(self, condition: FieldCondition) -> Iterator[tuple[str, str]]:
        """Describe each value of a condition as it was typed."""
        for value in condition.values:
            shown = _shorten(value)
            if condition.field.type == "bool":
                shown = str(YES_OR_NO.get(value, shown))
            yield value, self._describe(condition.field.name, condition.operator, shown)

    def _describe(self, name: str, operator: str, value: str) -> str:
        if operator == "empty":
            operator = "empty" if IS_EMPTY.get(value) else "filled"
        templates = {
            "field": _("%(field)s: %(value)s"),
            "not": _("%(field)s is not %(value)s"),
            "contains": _("%(field)s contains “%(value)s”"),
            "starts": _("%(field)s begins with “%(value)s”"),
            "from": _("%(field)s ≥ %(value)s"),
            "to": _("%(field)s ≤ %(value)s"),
            "after": _("%(field)s > %(value)s"),
            "before": _("%(field)s < %(value)s"),
            "empty": _("%(field)s is empty"),
            "filled": _("%(field)s is not empty"),
        }
        return templates[operator] % {"field": self._label(name), "value": value}

    def _label(self, name: str) -> str:
        return _("No.") if name == ID else self._labels.get(name, name)

    def describe(self, condition: Condition) -> str:
        """Describe a condition of the API."""
        match condition:
            case And(conditions=(single,)) | Or(conditions=(single,)):
                return self.describe(single)
            case And() | Or():
                parts = [self._describe_member(each) for each in condition.conditions[:10]]
                parts += ["…"] if len(condition.conditions) > len(parts) else []
                is_and = isinstance(condition, And)
                word = pgettext("conditions", " and ") if is_and else pgettext("conditions", " or ")
                return word.join(parts)
            case In() if condition.values == (None,):
                return self._describe(condition.field, "empty", "yes")
            case In():
                values = [_format_value(value) for value in condition.values[:10]]
                values += ["…"] if len(condition.values) > len(values) else []
                shown = pgettext("conditions", " or ").join(values)
                return self._describe(condition.field, "field", shown)
            case Comparison(operator="isnull"):
                value = "yes" if condition.value else "no"
                return self._describe(condition.field, "empty", value)
            case Comparison():
                operator = _OPERATORS[condition.operator]
                return self._describe(condition.field, operator, _format_value(condition.value))

    def _describe_member(self, condition: Condition) -> str:
        """Describe a condition of a group, in brackets if it joins others itself."""
        match condition:
            case And(conditions=(single,)) | Or(conditions=(single,)):
                return self._describe_member(single)
            case And() | Or():
                return f"({self.describe(condition)})"
            case In() if len(condition.values) > 1:
                return f"({self.describe(condition)})"
            case _:
                return self.describe(condition)


#: The page's operators of those of the API.
_OPERATORS = {
    "ieq": "field",
    "ne": "not",
    "ine": "not",
    "contains": "contains",
    "icontains": "contains",
    "startswith": "starts",
    "istartswith": "starts",
    "gte": "from",
    "lte": "to",
    "gt": "after",
    "lt": "before",
}


def _format_value(value: Json) -> str:
    if value is None:
        return _("empty")
    if isinstance(value, bool):
        return str(YES_OR_NO["true" if value else "false"])
    return _shorten(value if isinstance(value, str) else dump_json_as_sent(value))


def _shorten(text: str) -> str:
    return shorten(show_bidi_controls(text), _MAX_VALUE_LENGTH)

"""What each operator of ``filters`` means."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..filters.grammar import OPERATORS

_MEANINGS: Mapping[str, str | Promise] = {
    "eq": _("Equal; a list is the value of a field of lists."),
    "ieq": _("Equal to the text, ignoring case; for text fields."),
    "in": _("Equal to one of the values."),
    "lt": _("Less than."),
    "lte": _("Less than or equal to."),
    "gt": _("Greater than."),
    "gte": _("Greater than or equal to."),
    "ne": _("Not equal; finds empty cells too."),
    "ine": _("Not equal to the text, ignoring case; finds empty cells too."),
    "contains": _("Holds the text, or, in a field of lists or JSON, the value."),
    "icontains": _("Holds the text, ignoring case."),
    "startswith": _("Begins with the text."),
    "istartswith": _("Begins with the text, ignoring case."),
    "isnull": _("Whether the cell is empty."),
}


def describe_operators() -> dict[str, str]:
    """Describe the operators in the order of the grammar, in the language of the request."""
    return {name: str(_MEANINGS[name]) for name in OPERATORS}

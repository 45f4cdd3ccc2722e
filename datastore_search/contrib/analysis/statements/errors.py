"""Statements that cannot be answered; a message names the word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from ....messages import render_message
from ....messages.access import AccessDenied
from ....messages.parameters import InvalidParameter

_MESSAGES = {
    "syntax": _("Invalid SQL: syntax error at or near “%(word)s”."),
    "several": _("Query is not a single statement."),
    "large": _("The statement is too long or too deeply nested."),
    "tables": _("The statement reads more than %(most)s tables."),
    "unsupported": _("“%(word)s” is not supported in statements."),
    "column": _("Column “%(word)s” does not exist here, or is ambiguous."),
    "types": _("The types of “%(word)s” do not fit. A cast may help."),
    "shown": _("Column “%(word)s” can be shown and counted, but not computed with."),
    "failed": _(
        "The statement cannot be computed: a number is too large, a text does not fit a cast, "
        "something is divided by zero, or a column is neither grouped nor aggregated."
    ),
}


class InvalidStatement(InvalidParameter):
    """
    A statement is not answered; ``info`` has the message where CKAN's clients read it.

    Source: CKAN up to 2.11.
    """

    parameter = "query"

    def __init__(self, code: str, **values: Any) -> None:
        super().__init__(**values)
        self.code = code

    def __str__(self) -> str:
        return render_message(_MESSAGES[self.code], self.values)

    @property
    def members(self) -> Mapping[str, Any]:
        return {"info": {"orig": [str(self)]}}


class FunctionDenied(AccessDenied):
    """A function is not among those that are allowed.  Source: CKAN, which answers 403."""

    message = _("Access denied: Not authorized to call function %(word)s")

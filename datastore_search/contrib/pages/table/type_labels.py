"""The types of fields in words, also in the errors of parameters."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from ....messages import render_message
from ....messages.parameters import InvalidParameter, InvalidParameters

_LIST_OF_INTEGERS = gettext_lazy("list of whole numbers")

_LABELS = {
    "text": gettext_lazy("text"),
    "int2": gettext_lazy("whole number"),
    "int4": gettext_lazy("whole number"),
    "int8": gettext_lazy("whole number"),
    "numeric": gettext_lazy("number"),
    "float8": gettext_lazy("number"),
    "bool": gettext_lazy("yes or no"),
    "date": gettext_lazy("date"),
    "timestamp": gettext_lazy("date and time"),
    "timestamptz": gettext_lazy("date and time in UTC"),
    "time": gettext_lazy("time of day"),
    "json": gettext_lazy("nested data"),
    "_text": gettext_lazy("list of texts"),
    "_int4": _LIST_OF_INTEGERS,
    "_int8": _LIST_OF_INTEGERS,
    "_float8": gettext_lazy("list of numbers"),
    "_bool": gettext_lazy("list of yes or no"),
}


def label_type(name: str) -> str:
    """Return a type in words; unknown types are returned unchanged."""
    return str(_LABELS.get(name, name))


def describe_parameter_errors(error: InvalidParameter | InvalidParameters) -> list[str]:
    """Describe each error as the API does, but with the types of fields in words."""
    errors = error.errors if isinstance(error, InvalidParameters) else (error,)
    return [
        render_message(
            each.message,
            {
                name: label_type(value) if name == "type" else value
                for name, value in each.values.items()
            },
        )
        for each in errors
    ]

"""The errors of parameters, with the types of fields in words."""

from __future__ import annotations

from ....field_types import label_type
from ....messages import render_message
from ....messages.parameters import InvalidParameter, InvalidParameters


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

"""The errors of parameters in words for the reader of a page."""

from __future__ import annotations

from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..messages import render_message
from .type_labels import label_type

#: What a page reports beside its form.
ParameterError = InvalidParameter | InvalidParameters


def describe_parameter_errors(error: ParameterError) -> list[str]:
    """Describe each error as the API does, but with the types of fields in words."""
    errors = error.errors if isinstance(error, InvalidParameters) else (error,)
    return [_describe(each) for each in errors]


def _describe(error: InvalidParameter) -> str:
    values = error.values
    if "type" in values:
        values = {**values, "type": label_type(values["type"])}
    return render_message(error.message, values)

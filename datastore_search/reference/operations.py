"""What the reference describes: the actions, and the dump."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..api.actions import actions
from ..api.dumping.parameters import DumpParameters
from ..api.parameter_descriptions import ParameterDescription, describe_parameters
from ..api.parameters import ActionParameters


@dataclass(frozen=True, slots=True)
class Operation:
    """An action or the dump, under its name in the examples."""

    name: str
    summary: str | Promise
    parameters: type[ActionParameters]
    methods: Sequence[str]

    @property
    def is_writing(self) -> bool:
        """Whether it changes records."""
        return "GET" not in self.methods


DUMP = Operation(
    "dump", _("Download the records of a resource as a file."), DumpParameters, ["GET"]
)

OPERATIONS: Mapping[str, Operation] = {
    **{
        action.name: Operation(
            action.name,
            action.help,
            action.parameters,
            ["POST"] if action.is_writing else ["GET", "POST"],
        )
        for action in actions.values()
    },
    DUMP.name: DUMP,
}


@dataclass(frozen=True, slots=True)
class ParameterTable:
    """The parameters of an operation, or the options of the objects that ``parent`` holds."""

    parent: str
    rows: Sequence[ParameterDescription]


def list_parameter_tables(operation: Operation) -> Iterator[ParameterTable]:
    """List the parameters, then the options of each parameter that has some."""
    rows = describe_parameters(operation.parameters)
    yield ParameterTable("", rows)
    for row in rows:
        if row.options:
            yield ParameterTable(row.name, describe_parameters(row.options))

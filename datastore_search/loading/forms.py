"""
The notations in which files write values: one table.

A form is a type and a way to write it: ``date`` alone is ISO's notation, ``date:dmy`` has the day
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..exceptions.loads import UnknownType
from ..field_types import FieldType, field_type, field_types, inferred_types


@dataclass(frozen=True, slots=True)
class Form:
    """
    One notation of a type.

    ``infers`` and ``accepts`` are DuckDB conditions and ``writes`` a DuckDB expression that gives
    JSON text, each over ``{v}``, a text that is not empty; as ``FieldType`` has them for its own
    notation.
    """

    kind: FieldType
    notation: str
    infers: tuple[str, ...]
    accepts: str
    writes: str

    @property
    def name(self) -> str:
        """Name the form as people choose it."""
        return f"{self.kind.name}:{self.notation}" if self.notation else self.kind.name


def _plain(kind: FieldType) -> Form:
    return Form(kind, "", kind.infers, kind.accepts, kind.writes)


forms: Mapping[str, Form] = {name: _plain(kind) for name, kind in field_types.items()}

#: The forms that a field of a file may turn out to have, the narrowest first.
inferred_forms: tuple[Form, ...] = tuple(forms[kind.name] for kind in inferred_types)

TEXT = forms["text"]


def chosen_form(name: str) -> Form:
    """
    Find the form that somebody has chosen, by its name.

    Raises: ``UnknownType`` when there is none.
    """
    kind, colon, notation = name.partition(":")
    try:
        return forms[f"{field_type(kind).name}{colon}{notation.strip().lower()}"]
    except KeyError:
        raise UnknownType(type=name, types=", ".join(forms)) from None

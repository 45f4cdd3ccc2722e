"""A group of reading requests, and the base parameters of most of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: The parameter of a group that varies several.
SEVERAL = ""


@dataclass(frozen=True)
class Group:
    """
    Requests that vary one parameter: label → value.

    With no name of a parameter, each value is an object of several, or the text of a body.
    """

    name: str
    parameter: str
    values: Mapping[str, Any]
    base: Mapping[str, Any] = field(default_factory=dict)
    form: str = "json"

    def sent(self, value: Any) -> Any:
        if isinstance(value, str) and self.parameter == SEVERAL:
            return value
        if isinstance(value, list) and self.parameter == SEVERAL:
            return [*self.base.items(), *value]
        return {**self.base, **(value if self.parameter == SEVERAL else {self.parameter: value})}


PLACES = {"resource_id": "@places", "fields": "_id"}
NUMBERS = {"resource_id": "@numbers", "fields": "_id,label"}
TIMES = {"resource_id": "@times", "fields": "_id,label"}
NAMES = {"resource_id": "@names"}
WORDS = {"resource_id": "@words", "fields": "_id"}
MANY = {"resource_id": "@many", "fields": "_id"}

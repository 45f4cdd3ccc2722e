"""
Requests with their answers, as ``examples.json`` keeps them.

They are about the tables of the example project, and about one more that they make, change and
delete in turn.  A test asks each and compares the answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

#: A public table of the example project.
SURVEY: Final = "5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"

#: Where the examples were asked.
PORTAL: Final = "https://portal.example.org"
_PREFIX: Final = "/en/"


@dataclass(frozen=True, slots=True)
class Example:
    """
    One request and its answer.

    ``answer`` is the whole envelope, or the text of a dump's file; ``with_token`` tells whether a
    token was sent.
    """

    action: str
    name: str
    summary: str
    sent: Mapping[str, Any]
    status: int
    answer: Any
    with_token: bool = True

    @property
    def as_form(self) -> dict[str, Any]:
        """The parameters as a form has them: a list of texts is repeated, objects are JSON."""
        return {name: _text(value) for name, value in self.sent.items()}


def examples(prefix: str = _PREFIX) -> list[Example]:
    """Give all examples in order, as if asked under a prefix such as ``/vi/``."""
    text = _read().replace(f"{_PREFIX}api/", f"{prefix}api/")
    return [Example(**each) for each in json.loads(text)]


def examples_of(action: str, prefix: str = _PREFIX) -> list[Example]:
    """Give the examples of an action."""
    return [example for example in examples(prefix) if example.action == action]


def shown(found: Iterable[Example], value_of: Callable[[Example], object]) -> dict[str, Any]:
    """Show something of each example under its name; an answer has the name of its request."""
    listed = {
        example.name: {"summary": example.summary, "value": value_of(example)} for example in found
    }
    return {"examples": listed} if listed else {}


@cache
def _read() -> str:
    return (files(__package__) / "examples.json").read_text(encoding="utf-8")


def _text(value: Any) -> Any:
    is_nested = isinstance(value, dict) or (
        isinstance(value, list) and not all(isinstance(each, str) for each in value)
    )
    return json.dumps(value, ensure_ascii=False) if is_nested else value

"""
Requests with their answers, stored in ``examples.json``.

They use the tables of the example project, and one more that they create, change and delete.  A
test sends each request and compares the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

#: A public table of the example project.
SURVEY: Final = "5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"

#: The portal in the examples.
PORTAL: Final = "https://portal.example.org"
_PREFIX: Final = "/en/"


@dataclass(frozen=True, slots=True)
class Example:
    """One request and its answer: the whole envelope, or the text of a dump."""

    action: str
    name: str
    summary: str
    sent: Mapping[str, Any]
    status: int
    answer: Any
    with_token: bool = True


def list_examples(prefix: str = _PREFIX) -> Sequence[Example]:
    """List all examples in order, with URLs under a prefix such as ``/vi/``."""
    text = files(__package__).joinpath("examples.json").read_text(encoding="utf-8")
    return [Example(**each) for each in json.loads(text.replace(f"{_PREFIX}api/", f"{prefix}api/"))]


def select_examples(action: str, prefix: str = _PREFIX) -> list[Example]:
    return [example for example in list_examples(prefix) if example.action == action]


def show_examples(
    chosen: Iterable[Example], get_value: Callable[[Example], object]
) -> dict[str, Any]:
    """Build the member ``examples``: a value of each example, under the name of its request."""
    listed = {
        example.name: {"summary": example.summary, "value": get_value(example)}
        for example in chosen
    }
    return {"examples": listed} if listed else {}

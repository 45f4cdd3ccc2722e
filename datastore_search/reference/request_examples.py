"""The example of an operation: a request of curl's, and the beginning of its answer."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from http import HTTPStatus

from .examples import PORTAL, Example, select_examples
from .operations import DUMP, Operation

#: Of the answer.
MAX_SHOWN_LINES = 60


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A request, and the beginning of its answer."""

    request: str
    answer: str


def build_shown_example(operation: Operation, path: str, prefix: str) -> ShownExample:
    """
    Write the first example that succeeds, with a path of the operation.

    URLs in the answer are under a prefix such as ``/vi/``.
    """
    example = next(
        each for each in select_examples(operation.name, prefix) if each.status == HTTPStatus.OK
    )
    is_dump = operation.name == DUMP.name
    write = _write_query if is_dump else _write_body
    lines = write(f"{PORTAL}{path}", example)
    if operation.is_writing:
        lines.insert(1, '-H "Authorization: $TOKEN"')
    answer = example.answer if is_dump else dump_json(example.answer)
    return ShownExample(" \\\n  ".join(lines), _cut(answer))


def dump_json(value: object) -> str:
    """Write JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _write_body(address: str, example: Example) -> list[str]:
    body = [f"-d {shlex.quote(dump_json(example.sent))}"] if example.sent else []
    return [f"curl {address}", *body]


def _write_query(address: str, example: Example) -> list[str]:
    return [
        f"curl -G {address}",
        *(
            f"--data-urlencode {shlex.quote(f'{name}={text}')}"
            for name, value in example.as_form.items()
            if name != "name"  # which is in the address
            for text in (value if isinstance(value, list) else [value])
        ),
    ]


def _cut(text: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[:MAX_SHOWN_LINES], *(["…"] if len(lines) > MAX_SHOWN_LINES else [])])

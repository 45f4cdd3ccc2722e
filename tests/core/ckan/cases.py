"""The cases: requests, their form, and whether the order of their records is defined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import reading, writing

#: The parameters of full-text queries: CKAN leaves records of equal rank in no order.
_FULL_TEXT_PARAMETERS = frozenset({"q", "full_text"})


@dataclass(frozen=True)
class Request:
    """
    One request of an action.

    What is sent is a JSON value, pairs for a query string or a form, or the text of a body.
    ``@name`` in it stands for the id of a resource.
    """

    sent: Any
    action: str = "datastore_search"
    form: str = "json"
    words: str = ""

    @property
    def needs_token(self) -> bool:
        return self.words != "anonymous" and self.action not in {
            "datastore_search",
            "datastore_info",
        }

    @property
    def in_order(self) -> bool:
        if self.action != "datastore_search" or isinstance(self.sent, str):
            return True
        sent = self.sent if isinstance(self.sent, Mapping) else dict(self.sent)
        unsorted = not sent.get("sort")
        return not (unsorted and (_FULL_TEXT_PARAMETERS & sent.keys() or sent.get("distinct")))


@dataclass(frozen=True)
class Case:
    """Requests that follow each other, with a name for their subject."""

    name: str
    requests: tuple[Request, ...]

    @property
    def writes(self) -> bool:
        """Whether the case has its own resource."""
        return len(self.requests) > 1

    @property
    def sent(self) -> list[Any]:
        return [(request.action, request.form, request.sent) for request in self.requests]

    @property
    def steps(self) -> Iterator[tuple[str, Request]]:
        if len(self.requests) == 1:
            yield self.name, self.requests[0]
            return
        for number, request in enumerate(self.requests, 1):
            action = request.action.removeprefix("datastore_")
            label_of_step = f" {request.words}" if request.words else ""
            yield f"{self.name}:{number}-{action}{label_of_step}", request


def _build_requests(steps: Sequence[writing.Step]) -> Iterator[Request]:
    """Yield the requests of a writing case: its steps, then a search for all records."""
    for name, sent in steps:
        action, _, words = name.partition(" ")
        yield Request(sent, f"datastore_{action}", words=words)
    yield Request(dict(writing.FINAL_SEARCH))


READING = tuple(
    Case(f"{group.name}/{label}", (Request(group.sent(value), form=group.form),))
    for group in reading.GROUPS
    for label, value in group.values.items()
)
WRITING = tuple(
    Case(f"{group}/{label}", tuple(_build_requests(steps)))
    for group, cases in writing.GROUPS.items()
    for label, steps in cases.items()
)
CASES = READING + WRITING

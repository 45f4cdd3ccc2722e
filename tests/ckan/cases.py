"""The cases: what is asked, in which form, and whether the order of the records is defined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import reading, writing

#: The parameters that ask full-text questions, whose equal ranks CKAN leaves in no order.
_QUESTIONS = frozenset({"q", "full_text"})


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
        """Tell whether the request writes, and says who writes."""
        return self.words != "anonymous" and self.action not in {
            "datastore_search",
            "datastore_info",
        }

    @property
    def in_order(self) -> bool:
        """Tell whether CKAN defines the order of the records."""
        if self.action != "datastore_search" or isinstance(self.sent, str):
            return True
        sent = self.sent if isinstance(self.sent, Mapping) else dict(self.sent)
        unsorted = not sent.get("sort")
        return not (unsorted and (_QUESTIONS & sent.keys() or sent.get("distinct")))


@dataclass(frozen=True)
class Case:
    """Requests in a row, with a name that says what they are about."""

    name: str
    requests: tuple[Request, ...]

    @property
    def writes(self) -> bool:
        """Tell whether the case has a resource of its own."""
        return len(self.requests) > 1

    @property
    def sent(self) -> list[Any]:
        """What is sent."""
        return [(request.action, request.form, request.sent) for request in self.requests]

    @property
    def steps(self) -> Iterator[tuple[str, Request]]:
        """Give each request with a name of its own."""
        if len(self.requests) == 1:
            yield self.name, self.requests[0]
            return
        for number, request in enumerate(self.requests, 1):
            action = request.action.removeprefix("datastore_")
            said = f" {request.words}" if request.words else ""
            yield f"{self.name}:{number}-{action}{said}", request


def _reading_cases() -> Iterator[Case]:
    for group in reading.GROUPS:
        for label, value in group.values.items():
            yield Case(f"{group.name}/{label}", (Request(group.sent(value), form=group.form),))


def _writing_cases() -> Iterator[Case]:
    for group, cases in writing.GROUPS.items():
        for label, steps in cases.items():
            yield Case(f"{group}/{label}", tuple(_written(steps)))


def _written(steps: Sequence[writing.Step]) -> Iterator[Request]:
    """Make the requests of a writing case: after the steps, look at the records."""
    for name, sent in steps:
        action, _, words = name.partition(" ")
        yield Request(sent, f"datastore_{action}", words=words)
    yield Request(dict(writing.LOOK))


READING = tuple(_reading_cases())
WRITING = tuple(_writing_cases())
CASES = READING + WRITING

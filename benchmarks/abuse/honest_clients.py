"""Honest clients: questions of every kind at fixed times, without waiting for answers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException

from ..calls import Call, Caller, build_action_call
from .attackers import CUT_OFF
from .attacks import Target, get_page

PER_SECOND = 5

#: An answer within this time is prompt.
PROMPT_SECONDS = 1.0

_TIMEOUT_SECONDS = 20
_ADDRESSES = 10
_WORDS = ("support", "library", "python", "network", "image", "server", "font", "game", "audio")
_SECTIONS = ("net", "admin", "libs", "python", "games", "doc", "utils", "web", "sound", "science")


def _ask(action: str, **parameters: object) -> Callable[[Target, int], Call]:
    return lambda target, _: build_action_call(
        target.server, action, {"resource_id": target.table, **parameters}
    )


#: A request of each kind; requests of one kind differ by their number.
QUESTIONS: dict[str, Callable[[Target, int], Call]] = {
    "limit=5": _ask("datastore_search", limit=5),
    "q": lambda t, n: _ask("datastore_search", q=_WORDS[n % len(_WORDS)], limit=10)(t, n),
    "filters": lambda t, n: _ask(
        "datastore_search", filters={"Section": _SECTIONS[n % len(_SECTIONS)]}, limit=20
    )(t, n),
    "sort": lambda t, n: _ask("datastore_search", sort="Size desc", offset=n, limit=20)(t, n),
    "facets": lambda t, n: _ask(
        "datastore_facets",
        facets=["Section", "Priority", "Architecture"],
        filters={"Size": {"gte": n}},
    )(t, n),
    "aggregate": lambda t, n: _ask(
        "datastore_aggregate", group_by="Section", filters={"Size": {"gte": n}}
    )(t, n),
    "page": lambda t, n: get_page(t, f"/en/datastore/{t.table}/?field.Section={_SECTIONS[n % 10]}"),
    "dump": lambda t, n: get_page(t, f"/en/datastore/dump/{t.table}?limit=50&offset={n}"),
    "info": lambda t, _: build_action_call(t.server, "datastore_info", {"id": t.table}),
    "catalogue": lambda t, n: get_page(t, f"/en/datastore/?q={_WORDS[n % len(_WORDS)]}"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question: a status, or the reason for none, and the time until then."""

    kind: str
    outcome: str
    seconds: float

    @property
    def is_prompt(self) -> bool:
        """Return whether it was answered promptly."""
        return self.outcome == "200" and self.seconds <= PROMPT_SECONDS


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to all questions."""

    answers: Sequence[Answer]

    @property
    def prompt_percent(self) -> float:
        """The share of prompt answers, of 100."""
        return 100 * sum(answer.is_prompt for answer in self.answers) / len(self.answers)

    @property
    def outcomes(self) -> Counter[str]:
        """The number of each outcome."""
        return Counter(answer.outcome for answer in self.answers)

    @property
    def late_kinds(self) -> Counter[str]:
        """The kinds of the questions that were not answered in time, with their number."""
        return Counter(answer.kind for answer in self.answers if not answer.is_prompt)


def ask_questions(target: Target, seconds: float, per_second: float = PER_SECOND) -> Answers:
    """Ask every kind in turn, for so long, from several addresses; wait for all answers."""
    answers: list[Answer] = []
    threads: list[threading.Thread] = []
    started_at = time.monotonic()
    for number in range(max(1, round(seconds * per_second))):
        time.sleep(max(0, started_at + number / per_second - time.monotonic()))
        ask = partial(lambda n: answers.append(_ask_one(target, n)), number)
        threads.append(threading.Thread(target=ask, daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(2 * _TIMEOUT_SECONDS)
    return Answers(answers)


def _ask_one(target: Target, number: int) -> Answer:
    turn, position = divmod(number, len(QUESTIONS))
    kind = list(QUESTIONS)[position]
    call = QUESTIONS[kind](target, turn)
    source = f"127.2.0.{1 + (turn + position) % _ADDRESSES}"
    started_at = time.monotonic()
    with closing(Caller(target.server, timeout=_TIMEOUT_SECONDS, source=source)) as caller:
        try:
            response = caller.open(call)
            response.read()
            outcome = str(response.status)
        except TimeoutError:
            outcome = "timed out"
        except (OSError, HTTPException):
            outcome = CUT_OFF
    return Answer(kind, outcome, time.monotonic() - started_at)

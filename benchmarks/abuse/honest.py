"""The honest client: it asks for five records at fixed times, whatever the answers do."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .clients import CUT_OFF, REFUSED, Target

#: So many requests are sent, at equal distances.
REQUESTS = 100

#: What is waited for an answer at most.
PATIENCE_SECONDS = 20

#: An answer that comes within this time is prompt.
PROMPT_SECONDS = 1.0

_PATH = "/en/api/3/action/datastore_search"


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a request: a status or why there is none, and the time until then."""

    outcome: str
    seconds: float

    @property
    def is_prompt(self) -> bool:
        """Tell whether it was answered, and soon."""
        return self.outcome == "200" and self.seconds <= PROMPT_SECONDS


@dataclass(frozen=True, slots=True)
class Honesty:
    """All that became of the honest client's requests."""

    asked: Sequence[Asked]

    @property
    def prompt_share(self) -> float:
        """How many of the requests were answered soon, from 0 to 1."""
        return sum(each.is_prompt for each in self.asked) / len(self.asked)

    @property
    def outcomes(self) -> Counter[str]:
        """How often each outcome was."""
        return Counter(each.outcome for each in self.asked)

    def percentile(self, share: float) -> float:
        """Give the time that so many of the requests took at most."""
        times = sorted(each.seconds for each in self.asked)
        return times[max(0, math.ceil(len(times) * share) - 1)]


def ask_honestly(target: Target, seconds: float, requests: int = REQUESTS) -> Honesty:
    """Send the requests within so many seconds, and wait for their answers."""
    asked: list[Asked] = []
    threads = []
    begin = time.monotonic()
    for number in range(requests):
        time.sleep(max(0, begin + number * seconds / requests - time.monotonic()))
        thread = threading.Thread(target=lambda: asked.append(_ask(target)))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return Honesty(asked)


def _ask(target: Target) -> Asked:
    body = json.dumps({"resource_id": target.table, "limit": 5})
    called = http.client.HTTPConnection(target.server, timeout=PATIENCE_SECONDS)
    begin = time.monotonic()
    try:
        called.request("POST", _PATH, body, {"Content-Type": "application/json"})
        response = called.getresponse()
        response.read()
        outcome = str(response.status)
    except ConnectionRefusedError:
        outcome = REFUSED
    except TimeoutError:
        outcome = "timed out"
    except (OSError, http.client.HTTPException):
        outcome = CUT_OFF
    finally:
        called.close()
    return Asked(outcome, time.monotonic() - begin)

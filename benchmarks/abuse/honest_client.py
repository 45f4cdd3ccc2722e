"""The honest client: it requests five records at fixed times, without waiting for answers."""

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

#: Number of requests, at equal intervals.
REQUESTS_COUNT = 100

#: Maximum waiting time for an answer.
TIMEOUT_SECONDS = 20

#: An answer within this time is prompt.
PROMPT_SECONDS = 1.0

_PATH = "/en/api/3/action/datastore_search"


@dataclass(frozen=True, slots=True)
class HonestRequest:
    """The outcome of a request: a status, or the reason for none, and the time until then."""

    outcome: str
    seconds: float

    @property
    def is_prompt(self) -> bool:
        """Return whether it was answered promptly."""
        return self.outcome == "200" and self.seconds <= PROMPT_SECONDS


@dataclass(frozen=True, slots=True)
class HonestOutcomes:
    """The outcomes of the honest client's requests."""

    requests: Sequence[HonestRequest]

    @property
    def prompt_share(self) -> float:
        """The share of requests with a prompt answer, from 0 to 1."""
        return sum(request.is_prompt for request in self.requests) / len(self.requests)

    @property
    def outcomes(self) -> Counter[str]:
        """The number of each outcome."""
        return Counter(request.outcome for request in self.requests)

    def compute_percentile(self, share: float) -> float:
        """Return the maximum time of this share of the requests."""
        times = sorted(request.seconds for request in self.requests)
        return times[max(0, math.ceil(len(times) * share) - 1)]


def send_honest_requests(
    target: Target, seconds: float, count: int = REQUESTS_COUNT
) -> HonestOutcomes:
    """Send the requests within ``seconds``, and wait for their answers."""
    requests: list[HonestRequest] = []
    threads = []
    started_at = time.monotonic()
    for number in range(count):
        time.sleep(max(0, started_at + number * seconds / count - time.monotonic()))
        thread = threading.Thread(target=lambda: requests.append(_send_request(target)))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return HonestOutcomes(requests)


def _send_request(target: Target) -> HonestRequest:
    body = json.dumps({"resource_id": target.table, "limit": 5})
    connection = http.client.HTTPConnection(target.server, timeout=TIMEOUT_SECONDS)
    started_at = time.monotonic()
    try:
        connection.request("POST", _PATH, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        outcome = str(response.status)
    except ConnectionRefusedError:
        outcome = REFUSED
    except TimeoutError:
        outcome = "timed out"
    except (OSError, http.client.HTTPException):
        outcome = CUT_OFF
    finally:
        connection.close()
    return HonestRequest(outcome, time.monotonic() - started_at)

"""Downloads pause beside short requests, as long as they have worked, and never alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from datastore_search import precedence
from datastore_search.precedence import note_statement, pause_between

from .builders import act, get_result, make_resource

HOUR = timedelta(hours=1)

#: The rows after which a download may pause.
BATCH = 64


class Clock:
    """A clock in place of the module ``time``: it moves with work and pauses alone."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))
        self.now += seconds

    def work(self, rows: int, seconds: float, *, beside_requests: bool = True) -> Iterator[int]:
        """Yield rows that take this many seconds each, perhaps beside a request each."""
        for row in range(rows):
            if beside_requests:
                note_statement()
            self.now += seconds
            yield row


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(precedence, "time", clock)
    monkeypatch.setattr(precedence._LastStatement, "began_at", float("-inf"))
    return clock


@pytest.mark.parametrize(
    ("rows", "row_seconds", "pauses"),
    [
        pytest.param(0, 0.001, [], id="no row"),
        pytest.param(BATCH - 1, 0.0001, [0.0063], id="the end of the rows"),
        pytest.param(2 * BATCH, 0.0001, [0.0064, 0.0064], id="as long as it has worked"),
        pytest.param(4 * BATCH, 0.00002, [0.00256, 0.00256], id="after two milliseconds of work"),
        pytest.param(BATCH, 0.01, [0.05], id="50 ms at most"),
    ],
)
def test_a_download_beside_requests_pauses(
    clock: Clock, rows: int, row_seconds: float, pauses: list[float]
) -> None:
    passed = list(pause_between(clock.work(rows, row_seconds), HOUR))

    assert passed == list(range(rows))
    assert clock.pauses == pauses


def test_a_download_alone_never_pauses(clock: Clock) -> None:
    rows = clock.work(10 * BATCH, 0.001, beside_requests=False)

    assert list(pause_between(rows, HOUR)) == list(range(10 * BATCH))
    assert clock.pauses == []


def test_a_request_counts_for_a_tenth_of_a_second(clock: Clock) -> None:
    rows = pause_between(clock.work(4 * BATCH, 0.0005, beside_requests=False), HOUR)
    note_statement()

    assert len(list(rows)) == 4 * BATCH
    assert clock.pauses == [0.032, 0.032]  # 64 ms pass with each: the third ends after 160


def test_the_pauses_take_a_quarter_of_the_time_limit_at_most(clock: Clock) -> None:
    list(pause_between(clock.work(4 * BATCH, 0.001), timedelta(seconds=0.36)))

    assert clock.pauses == [0.05, 0.04]


@pytest.mark.django_db
def test_searches_have_precedence_and_downloads_have_not(clock: Clock, client: Client) -> None:
    resource = make_resource("code\n1\n2\n")

    dump = client.get(f"/en/datastore/dump/{resource.pk}")
    assert dump.getvalue() == b"_id,code\n1,1\n2,2\n"
    assert precedence._LastStatement.began_at == float("-inf")

    get_result(act(client, "datastore_search", {"resource_id": str(resource.pk)}))
    assert precedence._LastStatement.began_at == clock.now


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["csv", "csv-excel", "json", "ndjson", "parquet", "xml"])
def test_pauses_change_no_byte_of_a_download(
    clock: Clock, client: Client, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    resource = make_resource("code\n" + "".join(f"{n}\n" for n in range(3 * BATCH)))
    path = f"/en/datastore/dump/{resource.pk}?format={kind}"
    alone = client.get(path).getvalue()
    monkeypatch.setattr(precedence, "_MIN_WORK_SECONDS", 0)
    monkeypatch.setattr(precedence, "_choose_pause", lambda _worked_seconds: 0.01)

    assert client.get(path).getvalue() == alone
    assert clock.pauses == [0.01] * 3


@pytest.mark.django_db
def test_the_pauses_of_a_workbook_are_a_part_of_its_own_time_limit(
    clock: Clock, client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    resource = make_resource("code\n" + "".join(f"{n}\n" for n in range(3 * BATCH)))
    settings.DATASTORE_SEARCH_FILE_TIMEOUT = timedelta(seconds=400)
    monkeypatch.setattr(precedence, "_MIN_WORK_SECONDS", 0)
    monkeypatch.setattr(precedence, "_choose_pause", lambda _worked_seconds: 60.0)

    assert client.get(f"/en/datastore/dump/{resource.pk}?format=xlsx").status_code == 200
    assert clock.pauses == [60.0, 40.0]

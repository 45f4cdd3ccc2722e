"""Drawings as PNG, each by a process of its own, in the slot of its client."""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil
import pytest
from django.test import Client as Browser

from datastore_search.contrib.pages import drawings
from datastore_search.contrib.pages.charts import png, png_process
from datastore_search.contrib.pages.charts.png import DrawingFailed, can_draw_png, draw_png
from datastore_search.guards import shares
from datastore_search.guards.shares import DISCONNECTED, Client, Shares
from datastore_search.messages.availability import ClientDisconnected
from datastore_search.models import Resource

from ..builders import make_resource

BOX = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {}">{}</svg>'

#: As many pixels as a drawing may have.
LARGE = BOX.format(
    2_777, "".join(f'<circle cx="{n % 720}" cy="{n}" r="90"/>' for n in range(0, 2700, 27))
)


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin each test as in a new process, without what others have drawn."""
    monkeypatch.setattr(png, "drawing_shares", Shares(max_slots=1))
    drawings._files.clear()
    yield
    drawings._files.clear()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def count_drawing_processes() -> int:
    commands = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            commands.append(child.cmdline())
    return sum(png_process.__name__ in command for command in commands)


def wait_until(is_met: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not is_met():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("text", ["river", "Sông Cửu Long", "نهر النيل"])
def test_texts_are_drawn(text: str) -> None:
    drawn = {draw_png(BOX.format(72, f'<text y="50">{each}</text>')) for each in ("", text)}

    assert len(drawn) == 2
    assert {struct.unpack(">II", each[16:24]) for each in drawn} == {(1440, 144)}


def test_a_high_drawing_has_fewer_pixels_for_each_unit() -> None:
    width, height = struct.unpack(">II", draw_png(BOX.format(40_000, ""))[16:24])

    assert width * height <= 8_100_000
    assert not can_draw_png(" " * 1_000_001)


def test_without_the_renderer_there_is_no_png(
    client: Browser, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_resource("kind,n\na,1\nb,2\n")
    path = f"/en/datastore/{resource.pk}/chart/"
    page = client.get(path, {"by": "kind"}).content.decode()
    assert "format=png" in page
    png._has_texts.cache_clear()
    monkeypatch.setitem(sys.modules, "resvg_py", None)

    response = client.get(path, {"by": "kind", "format": "png"})

    png._has_texts.cache_clear()
    assert "format=png" not in response.content.decode()
    assert response.status_code == 400
    assert "format: Value must be one of svg, csv" in response.content.decode()
    assert response["Content-Type"] == "text/html; charset=utf-8"


# What a drawing may use ---------------------------------------------------------------------------


def test_other_threads_work_while_a_large_drawing_is_made(pool: ThreadPoolExecutor) -> None:
    drawn = pool.submit(draw_png, LARGE)
    wait_until(count_drawing_processes)
    turns = 0
    while not drawn.done():
        turns += 1
        time.sleep(0.001)

    assert drawn.result()[1:4] == b"PNG"
    # The thread that asked has not drawn: no other one had to wait for it.
    assert turns > 20


def test_a_client_draws_one_at_a_time_and_another_one_need_not_wait_for_all_of_them(
    pool: ThreadPoolExecutor,
) -> None:
    address, other = Client({"REMOTE_ADDR": "192.0.2.1"}), Client({"REMOTE_ADDR": "192.0.2.2"})
    drawn = [pool.submit(draw_png, LARGE, address) for _number in range(3)]
    wait_until(lambda: len(png.drawing_shares._waiting) == 2)

    own, most = pool.submit(draw_png, LARGE, other), 0
    while not own.done():
        most = max(most, count_drawing_processes())
        time.sleep(0.005)

    assert not all(each.done() for each in drawn)
    assert most <= 2  # one of each client
    assert {type(each.result(60)) for each in [*drawn, own]} == {bytes}


def test_the_process_ends_when_its_client_is_gone(pool: ThreadPoolExecutor) -> None:
    gone = threading.Event()
    drawn = pool.submit(draw_png, LARGE, Client({"REMOTE_ADDR": "192.0.2.1", DISCONNECTED: gone}))
    wait_until(count_drawing_processes)
    gone.set()

    with pytest.raises(ClientDisconnected):
        drawn.result(60)
    assert not count_drawing_processes()


def test_a_drawing_over_its_time_or_its_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(png, "_MAX_PIXELS", 2_000_000_000)
    monkeypatch.setattr(png, "_MAX_ZOOM", 30.0)
    with pytest.raises(DrawingFailed):  # 8 GB
        draw_png(LARGE)
    assert "The process that draws ended with" in caplog.text

    monkeypatch.undo()
    monkeypatch.setattr(png, "_TIMEOUT", png._TIMEOUT / 1_000)
    with pytest.raises(DrawingFailed):
        draw_png(LARGE)

    assert not count_drawing_processes()


# Requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "query"),
    [("chart", {"by": "kind"}), ("map", {"lat": "lat", "lon": "lon"}), ("map", {})],
)
def test_a_drawing_is_made_once_for_a_version(
    client: Browser,
    transactional_db: None,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    query: dict[str, str],
) -> None:
    resource = make_resource("kind,lat,lon\na,10.5,20.5\nb,11.5,21.5\n")
    holders: list[str] = []

    def draw(svg: str, client: Client | None = None) -> bytes:
        holders.append(shares.process_shares.held_key)
        return draw_png(svg, client)

    def ask(language: str = "en", **more: str) -> Any:
        path = f"/{language}/datastore/{resource.pk}/{page}/"
        return client.get(path, {**query, "format": "png", **more}, REMOTE_ADDR="192.0.2.7")

    monkeypatch.setattr(drawings, "draw_png", draw)
    first, second = ask(), ask()
    assert first.content == second.content
    assert first["Content-Type"] == second["Content-Type"] == "image/png"
    assert holders == ["192.0.2.7"]

    ask("de")  # its texts differ
    ask(**{"field.kind": "a"})
    Resource.objects.filter(pk=resource.pk).update(private=True)
    assert ask().status_code == 403
    assert len(holders) == 3


def test_a_failed_drawing_is_a_page_with_retry_after(
    client: Browser, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_resource("kind,n\na,1\nb,2\n")
    monkeypatch.setattr(png, "_TIMEOUT", png._TIMEOUT / 30_000)
    monkeypatch.setattr(png, "_CHECK_SECONDS", 0.001)

    response = client.get(f"/en/datastore/{resource.pk}/chart/", {"by": "kind", "format": "png"})

    assert response.status_code == 503
    assert response["Retry-After"] == "60"
    assert "The PNG takes too long to draw" in response.content.decode()

"""Drawings as PNG, each by a process of its own, in the slot of its client."""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
from django.test import Client as Browser

from datastore_search.contrib.pages import drawings
from datastore_search.contrib.pages.charts import png, png_process
from datastore_search.contrib.pages.charts.png import DrawingFailed, can_draw_png, draw_png
from datastore_search.guards import shares
from datastore_search.guards.shares import DISCONNECTED, Client, Shares
from datastore_search.messages.availability import (
    ClientDisconnected,
    ShareExceeded,
    TemporarilyUnavailable,
)
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


@contextmanager
def run_in_thread(work: Callable[[], object]) -> Iterator[list[object]]:
    """Run work beside the block; afterwards there is its result, or its exception."""
    results: list[object] = []

    def run() -> None:
        try:
            results.append(work())
        except TemporarilyUnavailable as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield results
    thread.join(60)


def count_drawing_processes() -> int:
    children = psutil.Process().children()
    return sum(png_process.__name__ in _read_command(child) for child in children)


def _read_command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def wait_until(is_met: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
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
    assert response["Content-Type"] == "text/html; charset=utf-8"


# What a drawing may use ---------------------------------------------------------------------------


def test_other_threads_work_while_a_large_drawing_is_made() -> None:
    with run_in_thread(lambda: draw_png(LARGE)) as results:
        wait_until(count_drawing_processes)
        turns = 0
        while not results:
            turns += 1
            time.sleep(0.001)

    (drawn,) = results
    assert isinstance(drawn, bytes)
    assert drawn[1:4] == b"PNG"
    # The thread that asked has not drawn: no other one had to wait for it.
    assert turns > 20


def test_a_client_draws_one_at_a_time_and_another_one_need_not_wait_for_all_of_them() -> None:
    address, other = Client({"REMOTE_ADDR": "192.0.2.1"}), Client({"REMOTE_ADDR": "192.0.2.2"})
    most = 0

    with (
        run_in_thread(lambda: draw_png(LARGE, address)) as first,
        run_in_thread(lambda: draw_png(LARGE, address)) as second,
        run_in_thread(lambda: draw_png(LARGE, address)) as third,
    ):
        wait_until(lambda: len(png.drawing_shares._waiting) == 2)
        with run_in_thread(lambda: draw_png(LARGE, other)) as own:
            while not own:
                most = max(most, count_drawing_processes())
                time.sleep(0.005)
            assert len([*first, *second, *third]) < 3

    assert most <= 2  # one of each client
    assert {type(each) for each in [*first, *second, *third, *own]} == {bytes}


def test_a_client_with_too_many_drawings_is_refused() -> None:
    address = Client({"REMOTE_ADDR": "192.0.2.1"})

    with png.drawing_shares.hold(address, png._TIMEOUT):
        waiting = [threading.Event() for _ in range(4)]

        def draw(gone: threading.Event) -> None:
            sender = Client({"REMOTE_ADDR": "192.0.2.1", DISCONNECTED: gone})
            with pytest.raises(ClientDisconnected):
                draw_png(LARGE, sender)

        threads = [threading.Thread(target=draw, args=[each]) for each in waiting]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(png.drawing_shares._waiting) == 4)
        with run_in_thread(lambda: draw_png(LARGE, address)) as refused:
            pass
        for gone in waiting:
            gone.set()
        for thread in threads:
            thread.join(30)

    assert [type(each) for each in refused] == [ShareExceeded]
    assert not count_drawing_processes()


def test_the_process_ends_when_its_client_is_gone() -> None:
    gone = threading.Event()
    sender = Client({"REMOTE_ADDR": "192.0.2.1", DISCONNECTED: gone})

    with run_in_thread(lambda: draw_png(LARGE, sender)) as results:
        wait_until(count_drawing_processes)
        gone.set()

    assert [type(each) for each in results] == [ClientDisconnected]
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


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clients whose slot was held by each drawing that was made."""
    holders: list[str] = []

    def draw(svg: str, client: Client | None = None) -> bytes:
        holders.append(shares.process_shares.held_key)
        return draw_png(svg, client)

    monkeypatch.setattr(drawings, "draw_png", draw)
    return holders


@pytest.mark.parametrize(
    ("page", "query"),
    [("chart", {"by": "kind"}), ("map", {"lat": "lat", "lon": "lon"}), ("map", {})],
)
def test_a_drawing_is_made_once_for_a_version(
    client: Browser, transactional_db: None, drawn: list[str], page: str, query: dict[str, str]
) -> None:
    resource = make_resource("kind,lat,lon\na,10.5,20.5\nb,11.5,21.5\n")

    def ask(language: str = "en", **more: str) -> Any:
        path = f"/{language}/datastore/{resource.pk}/{page}/"
        return client.get(path, {**query, "format": "png", **more}, REMOTE_ADDR="192.0.2.7")

    first, second = ask(), ask()
    assert first.content == second.content
    assert first["Content-Type"] == second["Content-Type"] == "image/png"
    assert drawn == ["192.0.2.7"]

    ask("de")  # its texts differ
    ask(**{"field.kind": "a"})
    assert len(drawn) == 3

    Resource.objects.filter(pk=resource.pk).update(private=True)
    assert ask().status_code == 403
    assert len(drawn) == 3


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

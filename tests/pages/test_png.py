"""Drawings as PNG."""

from __future__ import annotations

import struct
import sys

import pytest
from django.test import Client

from datastore_search.contrib.pages.charts import png
from datastore_search.contrib.pages.charts.png import can_draw_png, draw_png

from ..builders import make_resource

BOX = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {}">{}</svg>'


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
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
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

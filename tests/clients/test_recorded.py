"""The requests of clients that the tests do not install, sent again byte for byte."""

from __future__ import annotations

import socket
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest

from .recording import (
    RECORDED,
    SERVER,
    Exchange,
    find_missing,
    hide_server,
    parse_answer,
    read_recording,
)

NAMES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))

pytestmark = pytest.mark.django_db(transaction=True)


def send(request: str, base: str) -> Exchange:
    server = urlsplit(base).netloc
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request.replace(SERVER, server).encode())
        with HTTPResponse(connection, method=request.split(maxsplit=1)[0]) as answer:
            answer.begin()
            content = answer.read()
            media_type = answer.headers.get_content_type()
    text = hide_server(content.decode("utf-8-sig"), base)
    return Exchange(request, answer.status, media_type, parse_answer(text, media_type))


def test_a_recorded_client_gets_the_answers_that_it_understood(portal: str) -> None:
    assert NAMES
    for name in NAMES:
        for recorded in read_recording(name):
            found = send(recorded.request, portal)
            assert (found.status, found.media_type) == (recorded.status, recorded.media_type), name
            assert find_missing(recorded.answer, found.answer) == [], name

"""Recordings of clients: the requests that they send, byte for byte, and the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

RECORDED = Path(__file__).with_name("recorded")

#: Stands for the address of the server in a recording.
SERVER = "portal.example"


#: The server answers a recorder without compression, so that the answer can be read.
PLAIN = {"Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Exchange:
    """A request as a client sent it, and the status, media type and content of the answer."""

    request: str
    status: int
    media_type: str
    answer: Any

    def to_json(self) -> str:
        return json.dumps(self.__dict__, ensure_ascii=False)


def read_recording(name: str) -> list[Exchange]:
    lines = (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Exchange(**json.loads(line)) for line in lines]


def write_recording(name: str, exchanges: list[Exchange]) -> None:
    lines = "".join(f"{exchange.to_json()}\n" for exchange in exchanges)
    (RECORDED / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def parse_answer(text: str, media_type: str) -> Any:
    return json.loads(text) if media_type == "application/json" else text


@contextmanager
def record(base: str, exchanges: list[Exchange]) -> Iterator[str]:
    """Pass requests on to a server, keep them with the answers, and yield the address to ask."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            lines = [f"{name}: {value}" for name, value in self.headers.items()]
            head = "\r\n".join([self.requestline, *lines])
            sent = {name: value for name, value in self.headers.items() if name != "Connection"}
            with closing(HTTPConnection(urlsplit(base).netloc, timeout=60)) as connection:
                connection.request(self.command, self.path, body or None, {**sent, **PLAIN})
                with connection.getresponse() as answer:
                    content = answer.read()
            media_type = answer.headers.get_content_type()
            own = str(self.headers["Host"])
            text = f"{head}\r\n\r\n{body.decode()}".replace(own, SERVER)
            parsed = parse_answer(content.decode("utf-8-sig").replace(own, SERVER), media_type)
            exchanges.append(Exchange(text, answer.status, media_type, parsed))
            self.send_response_only(answer.status)
            for name, value in answer.headers.items():
                if name not in {"Content-Length", "Transfer-Encoding", "Connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = handle_request  # noqa: N815 — names of http.server

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


#: Members that differ each time: their kind alone is compared.
VARYING = {"last_modified", "metadata_modified", "oid", "datastore_search_version"}


def find_missing(expected: Any, found: Any, path: str = "") -> list[str]:
    """List what a recorded answer has and another lacks; the other may have more members."""
    if path.rpartition(".")[2] in VARYING and type(expected) is type(found):
        return []
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            problem
            for name, value in expected.items()
            for problem in (
                find_missing(value, found[name], f"{path}.{name}")
                if name in found
                else [f"{path}.{name} is missing"]
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            problem
            for index, (value, other) in enumerate(zip(expected, found, strict=True))
            for problem in find_missing(value, other, f"{path}[{index}]")
        ]
    return [] if expected == found else [f"{path}: {expected!r} became {found!r}"]


def hide_server(text: str, base: str) -> str:
    return re.sub(re.escape(urlsplit(base).netloc), SERVER, text)

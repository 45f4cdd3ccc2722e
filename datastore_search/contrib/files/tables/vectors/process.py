"""Build search vectors in a process of their own, on another core (``docs/decisions/0046``)."""

from __future__ import annotations

import io
import json
import logging
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from subprocess import Popen
from threading import Lock
from typing import IO, cast

from ...sources.child_processes import start_child
from .builder import Lexicon
from .pipes import Kind, PipeEndedError, pack_texts, read_message, unpack_texts, write_message

logger = logging.getLogger(__name__)

_CHILD = "datastore_search.contrib.files.tables.vectors.child"
_MAX_LOG_BYTES = 10_000

#: Vectors take milliseconds, and what PostgreSQL is asked for them hardly more.
_MAX_WAIT = timedelta(minutes=2)

#: Vectors as texts that PostgreSQL reads; None is one that PostgreSQL must build.
Vectors = list[str | None]


class VectorProcess:
    """
    A process that builds search vectors.

    What fails in it is reported, and the vectors are left to PostgreSQL.
    """

    def __init__(self, child: Popen[bytes], receiver: ThreadPoolExecutor, lexicon: Lexicon) -> None:
        """Use a child that has been started, and a receiver of one thread, which has a lexicon."""
        self._child, self._receiver, self._lexicon = child, receiver, lexicon
        self._requests = io.BufferedWriter(cast(io.RawIOBase, child.stdin))
        self._answers = io.BufferedReader(cast(io.RawIOBase, child.stdout))
        self._can_write = Lock()
        self._expected: deque[Future[Vectors]] = deque()
        self.has_failed = False

    @property
    def expected(self) -> int:
        """The number of texts whose vectors have not been received."""
        return len(self._expected)

    @property
    def is_ready(self) -> bool:
        """Whether ``receive`` would not wait."""
        return bool(self._expected) and self._expected[0].done()

    def send(self, texts: Sequence[str]) -> None:
        """Send texts, at least one."""
        self._write(Kind.TEXTS, pack_texts(texts))
        self._expected.append(self._receiver.submit(self._read_vectors, len(texts)))

    def receive(self) -> Vectors:
        """
        Receive the vectors of the first texts that are expected.

        Raises: Django's ``DatabaseError``, as the lexicon.
        """
        future = self._expected.popleft()
        try:
            return future.result(_MAX_WAIT.total_seconds())
        except TimeoutError:
            self._child.kill()
            return future.result()

    def _write(self, kind: Kind, content: bytes) -> None:
        try:
            with self._can_write:
                write_message(self._requests, kind, content)
        except BrokenPipeError:
            self.has_failed = True

    def _read_vectors(self, count: int) -> Vectors:
        """Read the next vectors, and answer what is asked before them."""
        try:
            while not self.has_failed:
                kind, content = read_message(self._answers)
                if kind is Kind.TEXTS:
                    return unpack_texts(content)
                question, words = json.loads(content)
                find = self._lexicon.find_stems if question == "stems" else self._lexicon.find_parts
                self._write(Kind.WORDS, json.dumps(dict(find(words))).encode())
        except PipeEndedError:
            self.has_failed = True
        return [None] * count


@contextmanager
def start_vector_process(lexicon: Lexicon) -> Iterator[VectorProcess]:
    """Start a process that builds vectors during the block; another thread uses the lexicon."""
    with (
        ThreadPoolExecutor(1) as receiver,
        tempfile.TemporaryFile() as log,
        start_child(_CHILD, log) as child,
    ):
        process = VectorProcess(child, receiver, lexicon)
        try:
            yield process
        finally:
            if process.has_failed:
                _report_failure(log)
            child.kill()
            receiver.shutdown()


def _report_failure(log: IO[bytes]) -> None:
    log.seek(0)
    text = log.read(_MAX_LOG_BYTES).decode(errors="replace")
    logger.error("The process that builds search vectors failed; PostgreSQL builds them. %s", text)

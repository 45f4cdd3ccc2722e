"""The process that builds search vectors: what it asks, how it ends, and what if it fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from datastore_search.contrib.files.tables.vectors import process
from datastore_search.contrib.files.tables.vectors.builder import Parts
from datastore_search.contrib.files.tables.vectors.process import (
    VectorProcess,
    start_vector_process,
)

_IMPORTS = """
import sys, datastore_search.contrib.files.tables.vectors.child
print([name for name in ("django", "psycopg", "duckdb") if name in sys.modules])
"""


class Lexicon:
    """A lexicon of two words, which notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_stems(self, words: Sequence[str]) -> Mapping[str, str]:
        self.asked += sorted(words)
        return {"running": "'run'"} if "running" in words else {}

    def find_parts(self, chunks: Sequence[str]) -> Mapping[str, Parts]:
        self.asked += sorted(chunks)
        return {"été": Parts(("'été'",), ("'ete'",))} if "été" in chunks else {}


class FailingLexicon(Lexicon):
    """The lexicon of a database that has stopped."""

    def find_stems(self, words: Sequence[str]) -> Mapping[str, str]:
        raise ConnectionError("the database is away")


@pytest.fixture
def lexicon() -> Lexicon:
    return Lexicon()


@pytest.fixture
def vectors(lexicon: Lexicon) -> Iterator[VectorProcess]:
    with start_vector_process(lexicon) as started:
        yield started


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a module of the test's own be the child; its file is to be written."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(process, "_CHILD", "child_of_a_test")
    return tmp_path / "child_of_a_test.py"


def list_children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_vectors_come_in_the_order_of_the_texts(vectors: VectorProcess, lexicon: Lexicon) -> None:
    vectors.send(["Running, été", ""])
    vectors.send(["running 7"])

    assert vectors.expected == 2
    assert vectors.receive() == ["running:1 'été':2 'run' 'ete'", ""]
    assert vectors.receive() == ["running:1 7:2 'run'"]
    assert vectors.expected == 0
    assert lexicon.asked == ["running", "été"]  # once


def test_what_cannot_be_built_is_left_to_postgresql(vectors: VectorProcess) -> None:
    vectors.send(["x" * 20_000, "plain"])

    assert vectors.receive() == [None, "plain:1"]


def test_texts_larger_than_a_pipe_are_sent_before_the_first_answer(vectors: VectorProcess) -> None:
    texts = [f"word{number} " * 200 for number in range(500)]
    for _time in range(3):
        vectors.send(texts)

    for _time in range(3):
        assert vectors.receive()[0] == " ".join(f"word0:{place}" for place in range(1, 201))


def test_the_process_ends_with_the_block(lexicon: Lexicon) -> None:
    before = list_children()
    with start_vector_process(lexicon) as vectors:
        vectors.send(["some words"] * 1_000)
        (child,) = list_children() - before

    assert not psutil.pid_exists(child)


def test_a_failure_of_the_lexicon_is_raised() -> None:
    lexicon = FailingLexicon()
    with start_vector_process(lexicon) as vectors:
        vectors.send(["words"])
        with pytest.raises(ConnectionError, match="away"):
            vectors.receive()


def test_postgresql_builds_the_rest_if_the_process_is_killed(vectors: VectorProcess) -> None:
    vectors.send(["before"])
    assert vectors.receive() == ["before:1"]
    vectors._child.kill()

    for _time in range(3):
        vectors.send(["after", "that"])
        assert vectors.receive() == [None, None]


def test_an_error_of_the_process_is_reported(
    stand_in: Path, lexicon: Lexicon, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.write_text("raise SystemError('a fault of the machine')")
    with start_vector_process(lexicon) as vectors:
        vectors.send(["words"])
        assert vectors.receive() == [None]

    assert "PostgreSQL builds them" in caplog.text
    assert "a fault of the machine" in caplog.text


def test_a_process_that_does_not_answer_is_ended(
    stand_in: Path, lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_MAX_WAIT", timedelta(seconds=0.2))
    stand_in.write_text("import time\ntime.sleep(1000)")
    with start_vector_process(lexicon) as vectors:
        vectors.send(["words"])
        assert vectors.receive() == [None]


def test_it_imports_neither_django_nor_a_driver() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True, timeout=120
    )

    assert ran.stdout.strip() == "[]"

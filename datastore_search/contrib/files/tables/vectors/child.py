"""
The process that builds search vectors: ``python -m`` with the name of this module.

Its parent (``process``) writes messages to the standard input: texts, and answers about words.
Vectors and questions come by what was the standard output.  The process imports neither Django nor
a driver of a database, and ends with its parent.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Any

from ...sources.child_processes import take_over_output
from .builder import Parts, VectorBuilder
from .pipes import Kind, PipeEndedError, pack_texts, read_message, unpack_texts, write_message


class _ParentLexicon:
    """The lexicon that the parent has."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers
        #: Texts that have come before an answer.
        self._texts: deque[bytes] = deque()

    def wait_for_texts(self) -> list[str]:
        """Wait for texts."""
        content = self._texts.popleft() if self._texts else self._read(Kind.TEXTS)
        return [text or "" for text in unpack_texts(content)]

    def find_stems(self, words: Sequence[str]) -> Mapping[str, str]:
        return dict(self._ask("stems", words))

    def find_parts(self, chunks: Sequence[str]) -> Mapping[str, Parts]:
        return {chunk: Parts(*parts) for chunk, parts in self._ask("parts", chunks).items()}

    def _ask(self, question: str, words: Sequence[str]) -> Any:
        write_message(self._answers, Kind.WORDS, json.dumps([question, words]).encode())
        return json.loads(self._read(Kind.WORDS))

    def _read(self, wanted: Kind) -> bytes:
        while True:
            kind, content = read_message(self._requests)
            if kind is wanted:
                return content
            self._texts.append(content)


def main() -> None:
    """Build vectors until the pipe ends, which is closed or left by the parent."""
    answers = take_over_output()
    lexicon = _ParentLexicon(sys.stdin.buffer, answers)
    builder = VectorBuilder(lexicon)
    try:
        while True:
            vectors = builder.build(lexicon.wait_for_texts())
            write_message(answers, Kind.TEXTS, pack_texts(vectors))
    except (BrokenPipeError, PipeEndedError):
        return


if __name__ == "__main__":
    main()

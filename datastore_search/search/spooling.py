"""Records of an answer that is too large for memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile

#: An answer of so many bytes is kept in memory; a larger one lies in a file.
MEMORY_BYTES = 2**20

#: So much is read, and sent, at once.
BLOCK_BYTES = 2**16


class Spool:
    """
    A JSON value that was written piece by piece and is read once, in blocks.

    It has been read to its end before the first block is sent, so nothing can go wrong any more,
    and a slow client holds no snapshot open.
    """

    def __init__(self, begin: bytes, pieces: Iterable[bytes], end: bytes) -> None:
        """Write ``begin``, the pieces and ``end``."""
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed by ``close``
        try:
            self._file.write(begin)
            for piece in pieces:  # ``writelines`` would keep all of them in memory
                self._file.write(piece)
            self._file.write(end)
        except BaseException:
            self._file.close()
            raise
        self.size = self._file.tell()
        """How many bytes there are."""

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while block := self._file.read(BLOCK_BYTES):
            yield block

    def close(self) -> None:
        """Throw everything away."""
        self._file.close()

    @classmethod
    def of_list(cls, rows: Iterable[bytes]) -> Spool:
        """Make a JSON list of lines: the texts of its members, a comma before each."""
        lines = iter(rows)
        first = next(lines, b"")
        return cls(b"[" + first[1:], lines, b"]")

    @classmethod
    def of_text(cls, rows: Iterable[bytes]) -> Spool:
        """Make a JSON text of lines."""
        return cls(b'"', map(escaped, _blocks(rows)), b'"')


def _blocks(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Put lines together, for a call for each would take too long."""
    block = bytearray()
    for row in rows:
        block += row
        if len(block) >= BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


#: What a JSON text cannot hold as it is; the backslash first, for the others bring more of it.
_ESCAPES = tuple(
    (bytes([code]), json.dumps(chr(code))[1:-1].encode()) for code in (*b'\\"', *range(0x20))
)


def escaped(text: bytes) -> bytes:
    """Write a text, in UTF-8, as it stands within a JSON text."""
    for plain, escape in _ESCAPES:
        text = text.replace(plain, escape)
    return text

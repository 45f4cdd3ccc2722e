"""
Records of an answer that is too large for memory.

How large it is nobody knows before: a record may have ten bytes or ten megabytes.  So the records
are counted in bytes while PostgreSQL sends them, and what becomes too large goes to a file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import SpooledTemporaryFile

from . import storage
from .conf import conf
from .exceptions import AnswerTooLarge, NoRoomForAnswer
from .stream_slots import StreamSlot

logger = logging.getLogger(__name__)

#: An answer of so many bytes is kept in memory; a larger one lies in a file.
MEMORY_BYTES = 4 * 2**20

#: So much is read, and sent, at once.
BLOCK_BYTES = 2**16

#: Lines that are in memory at once, for each may have megabytes.
_LINES_AT_ONCE = 32


class Spool:
    """
    A JSON value that was written piece by piece and is read once, in blocks.

    It has been read to its end before the first block is sent, so nothing can go wrong any more,
    and a slow client holds no snapshot open.  What lies in a file has a slot of the streams.
    """

    def __init__(self, begin: bytes, pieces: Iterable[bytes], end: bytes) -> None:
        """
        Write ``begin``, the pieces and ``end``.

        Raises: ``AnswerTooLarge``; ``TooManyStreams``; ``NoRoomForAnswer``.
        """
        folder = conf.SPOOL_FOLDER or None
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES, dir=folder)  # noqa: SIM115 - closed by ``close``
        self._slot: StreamSlot | None = None
        self._sizes: Sequence[int] = ()
        self.size = 0
        """How many bytes there are."""
        try:
            self._write(chain([begin], pieces, [end]))
        except BaseException:
            self.close()
            raise

    def _write(self, pieces: Iterable[bytes]) -> None:
        size, most = 0, MEMORY_BYTES
        for piece in pieces:  # ``writelines`` would keep all of them in memory
            size += len(piece)
            if size > most:
                most = conf.SPOOL_MAX_BYTES
                if size > most:
                    raise AnswerTooLarge(most=most)
                self._slot = self._slot or StreamSlot()
            try:
                self._file.write(piece)
            except OSError as error:
                logger.exception("datastore_search cannot write the file of an answer.")
                raise NoRoomForAnswer from error
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while block := self._file.read(BLOCK_BYTES):
            yield block

    def __len__(self) -> int:
        """Count the members of a list ``of_members``."""
        return len(self._sizes)

    def members(self) -> Iterator[bytes]:
        """Read the members of a list ``of_members`` one by one."""
        self._file.seek(0)
        for size in self._sizes:
            self._file.read(1)
            yield self._file.read(size)

    def close(self) -> None:
        """Throw everything away."""
        self._file.close()
        if self._slot:
            self._slot.release()

    def __del__(self) -> None:
        self.close()  # of an answer that somebody threw away

    @classmethod
    def of_members(cls, texts: Iterable[bytes]) -> Spool:
        """Make a JSON list of the texts of its members."""
        sizes: list[int] = []

        def pieces() -> Iterator[bytes]:
            for text in texts:
                if sizes:
                    yield b","
                sizes.append(len(text))
                yield text

        spool = cls(b"[", pieces(), b"]")
        spool._sizes = sizes
        return spool

    @classmethod
    def of_list(cls, rows: Iterable[bytes]) -> Spool:
        """Make a JSON list of lines: the texts of its members, a comma before each."""
        lines = iter(rows)
        first = next(lines, b"")
        return cls(b"[" + first[1:], _blocks(lines), b"]")

    @classmethod
    def of_text(cls, rows: Iterable[bytes]) -> Spool:
        """Make a JSON text of lines."""
        return cls(b'"', map(escaped, _blocks(rows)), b'"')


@dataclass(frozen=True, slots=True)
class Found:
    """
    What a statement found.

    ``head`` are the columns of the first row that are the same in each, ``records`` is the JSON
    list of the texts in the last column.
    """

    head: tuple[bytes | None, ...]
    records: list[bytes] | Spool
    count: int
    size_bytes: int


def gather(batches: Iterator[storage.Texts]) -> Found:
    """
    Make a JSON list of texts, in memory while it is small; null stands for no member.

    Raises: as ``Spool``.
    """
    head: tuple[bytes | None, ...] = ()
    texts: list[bytes] = []
    size = 0
    for batch in batches:
        head = batch.head
        some = list(filter(None, batch.last))
        texts += some
        size += sum(map(len, some))
        if size > MEMORY_BYTES:
            spool = Spool.of_members(chain(texts, _texts(batches)))
            return Found(head, spool, len(spool), spool.size)
    return Found(head, _listed(texts), len(texts), size)


def _listed(texts: Sequence[bytes]) -> list[bytes]:
    """Write a list in blocks: brackets, and commas between the members."""
    if not texts:
        return [b"[", b"]"]
    blocks = [b","] * (2 * len(texts) + 1)
    blocks[0], blocks[1::2], blocks[-1] = b"[", texts, b"]"
    return blocks


def _texts(batches: Iterable[storage.Texts]) -> Iterator[bytes]:
    for batch in batches:
        yield from filter(None, batch.last)


def _blocks(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Put lines together, for a call for each would take too long."""
    block, lines = bytearray(), iter(rows)
    while some := b"".join(islice(lines, _LINES_AT_ONCE)):
        block += some
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

"""
Records as text: PostgreSQL writes each one, and here they are joined, in memory or in a spool.

The size of an answer is unknown until it has been read: a record may have ten bytes or ten
megabytes.  So bytes are counted while PostgreSQL sends the records, and an answer that becomes too
large for memory is written to a file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import Any

from ..database.sessions import TextBatch
from ..guards.shares import StreamSlot
from ..messages.availability import NoRoomForAnswer
from ..messages.search import AnswerTooLarge

logger = logging.getLogger(__name__)

#: Larger answers are written to a file.
MAX_MEMORY_BYTES = 4 * 2**20

#: The size of an answer that waits in a file.  Dumps need none, but for workbooks of Excel.
MAX_SPOOL_BYTES = 1 * 2**30

#: The size of the blocks that are read, and sent.
BLOCK_BYTES = 2**16


class Spool:
    """
    A JSON value that was written piece by piece and is read once, in blocks.

    It is complete before its first block is sent.  So nothing can fail after that, and a slow
    client holds no snapshot open.  A spool in a file holds one of the streams' slots.
    """

    def __init__(self, begin: bytes, pieces: Iterable[bytes], end: bytes) -> None:
        """
        Write ``begin``, the pieces and ``end``.

        Raises: ``AnswerTooLarge``; ``TooManyStreams``; ``NoRoomForAnswer``.
        """
        self._file = SpooledTemporaryFile(max_size=MAX_MEMORY_BYTES)  # noqa: SIM115 - ``close`` closes it
        self._slot: StreamSlot | None = None
        self._sizes: Sequence[int] = ()
        self.size_bytes = 0
        with ExitStack() as failing:
            failing.callback(self.close)
            for piece in chain([begin], pieces, [end]):  # ``writelines`` would keep all in memory
                self.size_bytes += len(piece)
                if self.size_bytes > MAX_SPOOL_BYTES:
                    raise AnswerTooLarge(most=MAX_SPOOL_BYTES)
                if self.size_bytes > MAX_MEMORY_BYTES and self._slot is None:
                    self._slot = StreamSlot()
                try:
                    self._file.write(piece)
                except OSError as error:
                    logger.exception("datastore_search cannot write the file of an answer.")
                    raise NoRoomForAnswer from error
            failing.pop_all()

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while block := self._file.read(BLOCK_BYTES):
            yield block

    def __len__(self) -> int:
        return len(self._sizes)

    def read_members(self) -> Iterator[bytes]:
        """Read the members of a list that was made by ``from_members``."""
        self._file.seek(0)
        for size in self._sizes:
            self._file.read(1)
            yield self._file.read(size)

    def close(self) -> None:
        self._file.close()
        if self._slot:
            self._slot.release()

    def __del__(self) -> None:
        self.close()  # of an answer that was never sent

    @classmethod
    def from_members(cls, texts: Iterable[bytes]) -> Spool:
        sizes: list[int] = []

        def split_into_pieces() -> Iterator[bytes]:
            for text in texts:
                if sizes:
                    yield b","
                sizes.append(len(text))
                yield text

        spool = cls(b"[", split_into_pieces(), b"]")
        spool._sizes = sizes
        return spool

    @classmethod
    def from_list_lines(cls, lines: Iterable[bytes]) -> Spool:
        """Spool a JSON list, from lines: the texts of its members, a comma before each."""
        lines = iter(lines)
        first = next(lines, b"")
        return cls(b"[" + first[1:], _join_lines(lines), b"]")

    @classmethod
    def from_text_lines(cls, lines: Iterable[bytes]) -> Spool:
        return cls(b'"', map(escape_json_text, _join_lines(lines)), b'"')


def _join_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to blocks, for one call for each line would take too long."""
    block, lines = bytearray(), iter(lines)
    while some := b"".join(islice(lines, 32)):  # each may have megabytes
        block += some
        if len(block) >= BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


#: The escapes of what a JSON text cannot hold; the backslash first, for the others add more of it.
_ESCAPES = tuple(
    (bytes([code]), json.dumps(chr(code))[1:-1].encode()) for code in (*b'\\"', *range(0x20))
)


def escape_json_text(text: bytes) -> bytes:
    for plain, escape in _ESCAPES:
        text = text.replace(plain, escape)
    return text


# In memory or in a spool --------------------------------------------------------------------------


class RawJson(list[bytes]):
    """JSON text in UTF-8, as blocks that an answer repeats unchanged; in memory, unlike a spool."""

    def read_members(self) -> Iterator[bytes]:
        return iter(self[1:-1:2])  # between brackets and commas

    def close(self) -> None:
        """Do nothing: it holds nothing open."""


#: Longer numbers stay texts: Python refuses to convert them.
_MAX_DIGITS = 4_000

_DECODER = json.JSONDecoder(
    parse_float=Decimal,
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else digits,
)


def parse_raw_json(value: RawJson | Spool) -> Any:
    """Parse what PostgreSQL has written as JSON, and close a spool; decimals keep their digits."""
    with closing(value):
        return _DECODER.decode(b"".join(value).decode())


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """Records as a JSON list or rows; ``head`` is the first row without its last column."""

    records: RawJson | Spool
    count: int
    size_bytes: int
    head: tuple[bytes | None, ...] = ()

    @property
    def total(self) -> int:
        """The number of matches, where a statement counts them before each record."""
        total, *_others = self.head
        return int(total or 0)


def collect_records(batches: Iterator[TextBatch]) -> FoundRecords:
    """Join the texts of records to a JSON list, in memory while it is small; skip nulls."""
    head: tuple[bytes | None, ...] = ()
    texts: list[bytes] = []
    size_bytes = 0
    for batch in batches:
        head = batch.head
        some = list(filter(None, batch.last))
        texts += some
        size_bytes += sum(map(len, some))
        if size_bytes > MAX_MEMORY_BYTES:
            others = (text for batch in batches for text in filter(None, batch.last))
            spool = Spool.from_members(chain(texts, others))
            return FoundRecords(spool, len(spool), spool.size_bytes, head)
    if not texts:
        return FoundRecords(RawJson([b"[", b"]"]), 0, 0, head)
    blocks = RawJson([b","] * (2 * len(texts) + 1))
    blocks[0], blocks[1::2], blocks[-1] = b"[", texts, b"]"
    return FoundRecords(blocks, len(texts), size_bytes, head)


#: The size of a batch of records, if they are as large as those before.
_BATCH_BYTES = 2 * 2**20

#: The records of the first batch, whose sizes are unknown, and of any: some may be much larger.
_FIRST_BATCH_ROWS = 32
_MAX_BATCH_ROWS = 100


class RecordSizes:
    """The sizes of a relation's records so far, which decide how many are read at once."""

    _batch_rows: int | None = None

    def note_size(self, count: int, size_bytes: int) -> None:
        """Note the size of some records together; the largest mean size decides."""
        if count:
            rows = max(1, count * _BATCH_BYTES // size_bytes)
            self._batch_rows = min(self._batch_rows or _MAX_BATCH_ROWS, rows)

    def choose_batch_rows(self, limit: int | None) -> int | None:
        """Choose the number of records to read at once; None for all of a page."""
        rows = self._batch_rows or _FIRST_BATCH_ROWS
        return None if limit is not None and limit <= rows else rows

"""The records to write, the blocks of a file and its headers, for all formats."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec

from ..search import ConsistentRead, Query, RecordCopy

#: The size of a block, which is sent at once.
BLOCK_BYTES = 2**16

#: Number of records after which work on a file that cannot be sent yet is reported.
REPORTED_ROWS = 1_000

#: A block that reports such work, see ``search.Stream``.
PROGRESS = b""

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()

_Options = ParamSpec("_Options")


@dataclass(frozen=True)
class Dump:
    """
    The records to write, and how.

    ``infos`` has the data dictionary's entry of each field.  ``parameters`` are those of the
    dump that were read.
    """

    read: ConsistentRead
    query: Query
    infos: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_labels(self) -> bool:
        return self.parameters.get("headers") == "labels"

    @cached_property
    def copy(self) -> RecordCopy:
        return RecordCopy(self.read, self.query)

    @property
    def headers(self) -> list[str]:
        names = [name for name, _kind in self.copy.fields]
        return choose_headers(names, self.infos) if self.has_labels else names

    @property
    def start(self) -> bytes:
        return BOM if self.parameters.get("bom") else b""


def join_blocks(pieces: Iterable[bytes], min_bytes: int = BLOCK_BYTES) -> Generator[bytes]:
    """Join pieces to blocks of at least ``min_bytes``, but the last; none is empty."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= min_bytes:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


def join_pieces(
    write: Callable[Concatenate[Dump, RecordCopy, _Options], Iterable[bytes]],
) -> Callable[Concatenate[Dump, _Options], Generator[bytes]]:
    """Let a function that writes pieces write blocks, and check the query when it is called."""

    @wraps(write)
    def write_blocks(
        dump: Dump, /, *args: _Options.args, **options: _Options.kwargs
    ) -> Generator[bytes]:
        return join_blocks(write(dump, dump.copy, *args, **options))

    return write_blocks


def compress_blocks(blocks: Generator[bytes]) -> Generator[bytes]:
    """Compress blocks with gzip; the file has no time, so the same records give the same bytes."""
    compressor = zlib.compressobj(wbits=31)  # gzip's container, with the largest window
    packed = bytearray()
    with closing(blocks):
        for block in blocks:
            if block == PROGRESS:
                yield PROGRESS
                continue
            packed += compressor.compress(block)
            if len(packed) >= BLOCK_BYTES:
                yield bytes(packed)
                packed.clear()
    yield bytes(packed) + compressor.flush()


# Headers ------------------------------------------------------------------------------------------


def choose_headers(names: Sequence[str], infos: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """
    Choose the label of each field, or its name without one; all headers differ.

    A label that occurs twice, or is the name of another field, is followed by the field's name.
    ``infos`` has the data dictionary's entry of each field.
    """
    # A label may not be a text if a client has sent something else.
    given = [(name, infos.get(name, {}).get("label")) for name in names]
    labels = [(label.strip() if isinstance(label, str) else "") or name for name, label in given]
    counts, taken, headers = Counter(labels), set(names), []
    for name, label in zip(names, labels, strict=True):
        candidates = [label, f"{label} ({name})"] if counts[label] == 1 else [f"{label} ({name})"]
        is_name = label == name
        header = name if is_name else next((c for c in candidates if c not in taken), name)
        taken.add(header)
        headers.append(header)
    return headers

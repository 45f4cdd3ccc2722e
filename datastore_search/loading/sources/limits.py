"""
What reading a file may take: bytes of disk and of memory, and processor time.

All of it grows with the file, so that a large file is read and a small one cannot be endless. The
process that reads takes the limits upon itself, before it has opened the file; the system enforces
them, whatever a library does.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...conf import conf
from ...exceptions.loads import LoadFailed

#: So much may come of any file, however small.
HARMLESS_BYTES = 64 * 2**20

#: What is staged may take so many times the bytes of its texts: DuckDB keeps lengths, too.
_STAGED_RATIO = 4

_MB = 2**20


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """
    What may be taken for a file of some size.

    ``file_bytes`` is its size as it was sent, packed or not; None where nobody knows it.
    ``is_enforced`` says that this process has limits that the system enforces.
    """

    file_bytes: int | None = None
    is_enforced: bool = False

    @classmethod
    def for_file(cls, path: Path) -> ReadingLimits:
        """Say what may be taken for a file."""
        return cls(path.stat().st_size)

    def enforce(self) -> ReadingLimits:
        """
        Limit this process for good; a limit that the system does not know is left out.

        A file is as large as ``RLIMIT_FSIZE`` at most, beyond which writing fails; whatever is
        written to memory counts for ``RLIMIT_DATA``; the system kills what exceeds ``RLIMIT_CPU``.
        """
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, _STAGED_RATIO * self.unpacked_bytes)
        _limit(resource.RLIMIT_DATA, conf.READ_MEMORY_BYTES)
        _limit(resource.RLIMIT_CPU, _processor_seconds(self.file_bytes or 0))
        return ReadingLimits(self.file_bytes, is_enforced=True)

    @property
    def unpacked_bytes(self) -> int:
        """Give the bytes that may come of the file."""
        if self.file_bytes is None:
            return conf.UNPACKED_MAX_BYTES
        likely = max(HARMLESS_BYTES, self.file_bytes * conf.UNPACKED_RATIO_MAX)
        return min(conf.UNPACKED_MAX_BYTES, likely)

    def check_unpacked_bytes(self, size: int) -> None:
        """
        Make sure that so many bytes may come of the file.

        Raises: ``LoadFailed`` with ``archive.too_large``, ``archive.suspicious``.
        """
        if size > self.unpacked_bytes:
            raise self.refusal

    @property
    def refusal(self) -> LoadFailed:
        """Say that more has come of the file than may."""
        if self.unpacked_bytes < conf.UNPACKED_MAX_BYTES:
            return LoadFailed("archive.suspicious", ratio=conf.UNPACKED_RATIO_MAX)
        return LoadFailed("archive.too_large", most=conf.UNPACKED_MAX_BYTES)

    def extend_cpu_time(self, unpacked_bytes: int) -> None:
        """Allow the processor time that a file needs which unpacks to so many bytes."""
        if self.is_enforced:
            _raise(resource.RLIMIT_CPU, _processor_seconds(unpacked_bytes))

    def extend_memory(self, more_bytes: int) -> None:
        """Allow more memory, for what a library cannot read in pieces."""
        if self.is_enforced and more_bytes > 0:
            _raise(resource.RLIMIT_DATA, conf.READ_MEMORY_BYTES + more_bytes)


def _processor_seconds(size: int) -> int:
    return int(conf.READ_CPU_SECONDS + conf.READ_CPU_SECONDS_PER_MB * size / _MB) + 1


def _limit(kind: int, most: int) -> None:
    """Set a limit that this process may raise again, as far as it has not been limited itself."""
    _soft, hard = resource.getrlimit(kind)
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):  # macOS refuses some
        resource.setrlimit(kind, (soft, hard))


def _raise(kind: int, most: int) -> None:
    soft, _hard = resource.getrlimit(kind)
    if soft != resource.RLIM_INFINITY and most > soft:
        _limit(kind, most)

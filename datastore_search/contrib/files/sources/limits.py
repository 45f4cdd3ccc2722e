"""
The limits of reading a file, which the system enforces after they are set (decision 0023).

What exceeds them, or the memory and the disk of a machine, is recognised by its error.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Collection
from dataclasses import dataclass

from ....conf import conf as core_conf
from ....guards.child_processes import set_limit
from ..conf import conf
from ..messages import LoadFailed

#: A file may always unpack to this, however small it is.
MIN_UNPACKED_BYTES = 64 * 2**20

#: Staged rows may take this many times the bytes of their texts: DuckDB stores lengths, too.
_STAGED_RATIO = 4

#: Shapefiles and others that take long to read are rarely packed to a smaller part of their bytes.
_MAX_SLOW_RATIO = 50

#: A higher ratio of the unpacked content to the file counts as an attack.
MAX_UNPACKED_RATIO = 200

#: So many unpacked bytes have the time of any file once more.
_BYTES_PER_CPU_TIME = 32 * 2**20

#: Python and its libraries, beside the memory of a load.
_PROCESS_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """
    What may be used for a file.

    ``file_bytes`` is its size as it was sent, packed or not; None where only the settings limit it.
    ``is_enforced`` is true where the system enforces the limits for this process.
    """

    file_bytes: int | None = None
    is_enforced: bool = False

    def enforce(self) -> ReadingLimits:
        """
        Limit this process for the rest of its life, as far as the system has these limits.

        Writing fails beyond ``RLIMIT_FSIZE`` bytes of a file; ``RLIMIT_DATA`` counts all memory
        that is written to; the system kills what exceeds ``RLIMIT_CPU``.
        """
        set_limit(resource.RLIMIT_CORE, 0)
        set_limit(resource.RLIMIT_FSIZE, _STAGED_RATIO * self.max_unpacked_bytes)
        set_limit(resource.RLIMIT_DATA, core_conf.LOAD_MEMORY_BYTES + _PROCESS_BYTES)
        set_limit(resource.RLIMIT_CPU, _compute_cpu_seconds(self.file_bytes or 0))
        return ReadingLimits(self.file_bytes, is_enforced=True)

    @property
    def max_unpacked_bytes(self) -> int:
        if self.file_bytes is None:
            return conf.MAX_UNPACKED_BYTES
        likely = max(MIN_UNPACKED_BYTES, self.file_bytes * MAX_UNPACKED_RATIO)
        return min(conf.MAX_UNPACKED_BYTES, likely)

    def check_unpacked_bytes(self, unpacked_bytes: int) -> None:
        if unpacked_bytes > self.max_unpacked_bytes:
            raise self.unpacked_failure

    @property
    def unpacked_failure(self) -> LoadFailed:
        if self.max_unpacked_bytes < conf.MAX_UNPACKED_BYTES:
            return LoadFailed("archive.suspicious", ratio=MAX_UNPACKED_RATIO)
        return LoadFailed("archive.too_large", most=conf.MAX_UNPACKED_BYTES)

    def extend_cpu_time(self, unpacked_bytes: int, *, factor: int = 1) -> None:
        """
        Allow the processor time of a file that unpacks to ``unpacked_bytes``.

        A format that takes ``factor`` times as long as others gets so much more, but as if no file
        was packed to less than a fiftieth: a few kB that unpack to many MB get no minutes.
        """
        if self.is_enforced:
            sent = unpacked_bytes if self.file_bytes is None else self.file_bytes
            slow_bytes = min(unpacked_bytes, _MAX_SLOW_RATIO * sent)
            counted = unpacked_bytes + (factor - 1) * slow_bytes
            _raise_limit(resource.RLIMIT_CPU, _compute_cpu_seconds(counted))

    def extend_memory(self, more_bytes: int) -> None:
        """Allow more memory, for a library that does not read in pieces."""
        if self.is_enforced and more_bytes > 0:
            most = core_conf.LOAD_MEMORY_BYTES + _PROCESS_BYTES + more_bytes
            _raise_limit(resource.RLIMIT_DATA, most)


def _compute_cpu_seconds(size_bytes: int) -> int:
    return int(conf.READ_CPU_SECONDS * (1 + size_bytes / _BYTES_PER_CPU_TIME)) + 1


def _raise_limit(kind: int, value: int) -> None:
    soft, _hard = resource.getrlimit(kind)
    if soft != resource.RLIM_INFINITY and value > soft:
        set_limit(kind, value)


# Shortages ----------------------------------------------------------------------------------------

#: The disk is full, or the quota of a user.
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

#: The messages of DuckDB when the system refuses memory, or a transaction needs more than it may.
_OUT_OF_MEMORY = ("Allocation failure", "bad allocation", "bad_alloc", "failed to pin block")


def is_duckdb_error(error: BaseException, name: str = "Error") -> bool:
    """Return whether an error is one of DuckDB, which a web process does not import."""
    module = sys.modules.get("duckdb")
    return module is not None and isinstance(error, getattr(module, name))


def find_shortage(error: BaseException) -> LoadFailed | None:
    """Return the failure for an error that is a shortage; None for any other."""
    if isinstance(error, MemoryError) or is_duckdb_error(error, "OutOfMemoryException"):
        return LoadFailed("load.out_of_memory")
    if is_duckdb_error(error) and any(words in str(error) for words in _OUT_OF_MEMORY):
        return LoadFailed("load.out_of_memory")
    state = getattr(error.__cause__ or error, "sqlstate", None)  # Django's errors have a cause
    if state == "53400":
        return LoadFailed("load.temp_file_limit")
    if state == "53100" or _has_errno(error, _DISK_FULL):
        return LoadFailed("load.disk_full")
    return None


def is_file_too_large(error: BaseException) -> bool:
    """Return whether a file became larger than this process may write."""
    return _has_errno(error, {errno.EFBIG})


def _has_errno(error: BaseException, numbers: Collection[int]) -> bool:
    if isinstance(error, OSError):
        return error.errno in numbers
    # DuckDB's message includes the system's.
    return is_duckdb_error(error) and any(os.strerror(n) in str(error) for n in numbers)

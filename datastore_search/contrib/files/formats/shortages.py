"""Recognise a shortage of memory or disk, of this machine or of the database's."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection

from ..messages import LoadFailed

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
    if state == "53100" or _has_errno(error, _DISK_FULL):
        return LoadFailed("load.disk_full")
    return None


def is_file_too_large(error: BaseException) -> bool:
    """Return whether a file became larger than this process may write."""
    return _has_errno(error, {errno.EFBIG})


def is_write_refused(error: BaseException) -> bool:
    """Return whether the system refused to write more: the file that is read has no fault."""
    return _has_errno(error, _DISK_FULL | {errno.EFBIG})


def _has_errno(error: BaseException, numbers: Collection[int]) -> bool:
    if isinstance(error, OSError):
        return error.errno in numbers
    # DuckDB's message includes the system's.
    return is_duckdb_error(error) and any(os.strerror(n) in str(error) for n in numbers)

"""What this machine has too little of, from what the system, Python or DuckDB raised."""

from __future__ import annotations

import errno
import os

import duckdb

from ...exceptions.loads import LoadFailed

#: The disk is full, or what one user may have of it.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_TOO_LARGE = frozenset({errno.EFBIG})

#: What DuckDB says of memory that the system refuses, in whatever it was doing.
_NO_MEMORY = ("Allocation failure", "bad allocation", "bad_alloc")


def shortage_of_machine(error: BaseException) -> LoadFailed | None:
    """Say what there is too little of on this machine, if that is what is wrong."""
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return LoadFailed("load.out_of_memory")
    if isinstance(error, duckdb.Error) and any(words in str(error) for words in _NO_MEMORY):
        return LoadFailed("load.out_of_memory")
    if _is_of_system(error, _FULL):
        return LoadFailed("load.disk_full")
    return None


def is_too_large(error: BaseException) -> bool:
    """Tell whether a file has become larger than this process may write."""
    return _is_of_system(error, _TOO_LARGE)


def is_of_machine(error: BaseException) -> bool:
    """Tell whether it is this machine that is to blame, and no file."""
    return _is_of_system(error, _FULL | _TOO_LARGE)


def _is_of_system(error: BaseException, numbers: frozenset[int]) -> bool:
    """Tell whether the system has refused something for one of some reasons."""
    if isinstance(error, OSError):
        return error.errno in numbers
    # DuckDB repeats what the system says.
    return isinstance(error, duckdb.Error) and any(os.strerror(n) in str(error) for n in numbers)

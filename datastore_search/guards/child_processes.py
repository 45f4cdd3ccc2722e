"""Start a process for a part of the work of this one, limit it, and end it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: What a child may need of the environment, which also holds secrets.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONHOME")
_ENVIRONMENT_PREFIXES = ("LD_", "DYLD_")

#: Freed memory returns to the system, as a limit counts what is mapped: jemalloc, which DuckDB has,
#: keeps all that it ever had, and glibc keeps what is below the last piece in use.
_ALLOCATORS = {
    "DUCKDB_JE_MALLOC_CONF": "retain:false",
    "MALLOC_MMAP_THRESHOLD_": str(128 * 2**10),
    "MALLOC_ARENA_MAX": "1",
}


@contextmanager
def start_child(
    module: str, log: IO[bytes] | int, request: IO[bytes] | int = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """
    Start a child that runs a module; it is killed at the end of the block.

    Its standard output is a pipe, as is its input, unless that is a ``request``; ``log`` gets its
    standard error.  It has neither the environment of this process nor its settings.
    """
    python = Path(sys.executable or "")
    if not python.name.startswith(("python", "pypy")):  # a server that embeds Python
        python = Path(sys.exec_prefix, "bin", "python3")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.startswith(_ENVIRONMENT_PREFIXES)
    }
    paths = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
    child = subprocess.Popen(  # noqa: S603 - a module of this package
        [str(python), "-P", "-m", module],
        bufsize=0,
        stdin=request,
        stdout=subprocess.PIPE,
        stderr=log,
        env=inherited | _ALLOCATORS | {"PYTHONPATH": paths},
        process_group=0,  # Ctrl-C is for the parent, which ends the child
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def take_over_output() -> IO[bytes]:
    """Return the child's standard output; what libraries write there goes to the log from now."""
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(output, "wb")


def end_with_parent(parent: int) -> None:
    """Let the kernel end this child when its parent ends, which Linux can do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended before the kernel was asked
            os._exit(1)


def set_limit(kind: int, value: int) -> None:
    """Set a soft limit, which this process may raise again up to its hard limit."""
    _soft, hard = resource.getrlimit(kind)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):  # macOS refuses some
        resource.setrlimit(kind, (soft, hard))

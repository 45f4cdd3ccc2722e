"""How a command reports that it has failed: in words, without a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError
from django.db import DatabaseError

from ....database.refusals import explain_refusal
from ....messages.errors import DatastoreError
from ..messages.failures import LoadFailed

_INTERRUPTED_EXIT_CODE = 130  # as shells report a program that Ctrl-C has ended


@contextmanager
def report_failures() -> Iterator[None]:
    """Report as ``CommandError`` why an export or load failed, or the database refused it."""
    try:
        yield
    except (DatastoreError, LoadFailed) as error:
        raise CommandError("\n".join([str(error), *_list_choices(error)])) from error
    except DatabaseError as error:
        refusal = explain_refusal(error)
        if refusal is None:
            raise
        raise CommandError(str(refusal)) from error
    except KeyboardInterrupt as error:
        raise CommandError(
            "Interrupted. Nothing has changed.", returncode=_INTERRUPTED_EXIT_CODE
        ) from error


def _list_choices(error: Exception) -> list[str]:
    """List the arguments that would choose an encoding."""
    if not isinstance(error, LoadFailed) or error.code != "file.ambiguous_encoding":
        return []
    return [
        f"--encoding {name}" for name in re.findall(r"“(.*?)” \(", error.parameters["readings"])
    ]


@contextmanager
def report_unusable(path: Path, use: str) -> Iterator[None]:
    """Report why a file cannot be ``read``, or ``written``."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"“{path}” cannot be {use}: {error.strerror}") from error

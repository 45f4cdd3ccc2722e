"""The files of a command: why one cannot be read or written, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError


def open_file(path: Path) -> BinaryIO:
    """
    Open a file to read it.

    Raises: ``CommandError``.
    """
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise CommandError(f"There is no file “{path}”.") from error
    except OSError as error:
        raise CommandError(f"“{path}” cannot be read: {error.strerror}") from error


@contextmanager
def report_unwritable(path: Path) -> Iterator[None]:
    """
    Report why a file cannot be written.

    Raises: ``CommandError``.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"“{path}” cannot be written: {error.strerror}") from error

"""What a person may choose of how a file is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """
    The choices that decide how the cells of a file are found; what is empty is found out from it.

    ``nulls`` are texts that mean nothing, such as ``NA``; ``skip`` counts lines or rows above the
    header; ``sheet`` is a sheet's name or number from 1, ``member`` a file's name within an
    archive.
    """

    nulls: tuple[str, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    skip: int | None = None
    sheet: str = ""
    member: str = ""

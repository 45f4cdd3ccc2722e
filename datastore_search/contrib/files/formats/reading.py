"""Read a file of any format, packed or not."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from ..messages.failures import LoadFailed
from ..sources.archives import unpack
from . import InputFormat, detect_format, list_formats
from .header_rows import clean_labels, describe_name_changes
from .options import ReadOptions
from .staging import StagedTable, StagingArea


def read_file(
    path: Path, options: ReadOptions, staging_area: StagingArea, *, name: str = ""
) -> StagedTable:
    """
    Stage a file of any known format, packed or not.

    ``name`` is the file's own name, if ``path`` has another one: its suffix is a hint at the
    format.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    file_format, main = _unpack(path, name or path.name, options.member, staging_area)
    # Else each thread of numpy's OpenBLAS takes memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module, _, function = file_format.read.partition(":")
    try:
        # Imports take most of the time of a small file: only the reader that is needed is imported.
        read = getattr(import_module(module, __package__), function)
    except ModuleNotFoundError as error:
        if not (extra := file_format.extra):
            raise
        raise LoadFailed("file.extra_missing", format=file_format.name, extra=extra) from error
    table: StagedTable = read(main, options, staging_area)
    return replace(
        table,
        labels=clean_labels(table.labels),
        notices=(*table.notices, *describe_name_changes(table.labels, table.names)),
    )


def _unpack(
    path: Path, name: str, member: str, staging_area: StagingArea
) -> tuple[InputFormat, Path]:
    """Unpack a file, and find its format."""
    folder, limits = staging_area.folder, staging_area.limits
    for each in list_formats():
        if each.unpack and (main := each.unpack(path, folder, limits, member=member)):
            return each, main
    file = unpack(path, name, folder, limits, member=member)
    return detect_format(file.path, file.name), file.path

"""A file of any known format, packed or not, as a ``StagedTable``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..sources.archives import unpack
from .formats import get_reader
from .headers import labels_of, notices_on
from .options import ReadOptions
from .staging import StagedTable, StagingArea


def read_file(
    path: Path, options: ReadOptions, place: StagingArea, *, name: str = ""
) -> StagedTable:
    """
    Stage a file.

    ``name`` is what the file is called, if not as its path says: its ending is one of the hints at
    its format.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    file = unpack(path, name or path.name, place.folder, place.limits, member=options.member)
    table = get_reader(file.path, file.name)(file.path, options, place)
    said = notices_on(table.labels, table.names)
    labels = labels_of(table.labels)
    return replace(table, labels=labels, notices=(*table.notices, *said))

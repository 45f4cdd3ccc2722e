"""
From a file to a ``Table``: what it is packed in, which format it has, what its cells say.

Each format has a module with a function that stages the file; what formats have in common, the
names of fields among it, is in modules of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..headers import labels_of, remarks_on
from ..options import LoadOptions
from ..table import Table, stage
from .archives import Unpacked, unpacked
from .formats import reader_of


@contextmanager
def open_table(path: Path, options: LoadOptions, *, name: str = "") -> Iterator[Table]:
    """
    Open a file of any known format, packed or not.

    ``name`` is what the file is called, if not as its path says: its ending is one of the hints at
    its format.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    with stage() as place:
        file = unpacked(Unpacked(path, name or path.name), options, place)
        table = reader_of(file.path, file.name)(file.path, options, place)
        said = remarks_on(table.labels, table.names)
        labels = labels_of(table.labels)
        yield replace(table, labels=labels, remarks=(*table.remarks, *said))

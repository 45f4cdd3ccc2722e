"""Write a resource into a package."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Generator
from pathlib import Path

from ..dumping.dump import Dump
from ..dumping.formats import formats
from ..dumping.parquet import write_exact_parquet
from ..exceptions.dumps import FormatNotInstalled
from ..models import Resource
from ..search import ConsistentRead, Query, Stream
from .descriptor import DESCRIPTOR_NAME, RECORDS_NAME, build_descriptor

#: Called with the bytes of records that were written.
Report = Callable[[int], None]


def export_resource(name: uuid.UUID | str, path: Path, *, report: Report | None = None) -> Resource:
    """
    Write a resource, by its id or an alias, into a file that only this user can read.

    The records and what is said of them are of one moment.  The file appears when it is whole.

    Raises: ``DatastoreError``; ``OSError`` when the file cannot be written.
    """
    parquet = formats["parquet"]
    if not parquet.is_installed:
        raise FormatNotInstalled(format=str(parquet.label), package=parquet.package)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            resource = _write_members(archive, name, report or (lambda _size: None))
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink()
        raise
    return resource


def _write_members(archive: zipfile.ZipFile, name: uuid.UUID | str, report: Report) -> Resource:
    stream = Stream.open(name, _begin)
    try:
        # Stored: Parquet is compressed.
        with archive.open(RECORDS_NAME, "w", force_zip64=True) as member:
            for block in stream:
                member.write(block)
                report(len(block))
    finally:
        stream.close()
    text = json.dumps(build_descriptor(stream.resource), ensure_ascii=False, indent=2)
    archive.writestr(DESCRIPTOR_NAME, text, zipfile.ZIP_DEFLATED)
    return stream.resource


def _begin(read: ConsistentRead) -> Generator[bytes]:
    names = tuple(field.name for field in read.resource.schema)
    return write_exact_parquet(Dump(read, Query(limit=None, fields=names), {}))

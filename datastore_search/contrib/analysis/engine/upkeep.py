"""What of snapshots is missing, and what is left of them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import PurePath

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, F
from django.utils import timezone

from ....database.findings import Finding
from ....database.statements import write_rows
from ....guards.folders import delete_stray_files, get_storage
from ....models import Resource
from ..models import Snapshot
from .process import get_folder
from .snapshots import MAKING, MAX_CHANGES, MAX_SMALL_CELLS, SNAPSHOTS_FOLDER, make_snapshot

#: A file may be a little older than its row.
_MIN_AGE = timedelta(days=1)

_FORGET = (
    "DELETE FROM datastore_search_analysis_change AS change"
    " WHERE NOT EXISTS (SELECT FROM datastore_search_tableversion WHERE id = change.table_id)"
)

#: One row without a record stands for many: the next question has a new snapshot made.
_MERGE = (
    "WITH gone AS (DELETE FROM datastore_search_analysis_change WHERE table_id IN"
    " (SELECT table_id FROM datastore_search_analysis_change GROUP BY 1 HAVING count(*) > %s)"
    " RETURNING table_id)"
    " INSERT INTO datastore_search_analysis_change (table_id) SELECT DISTINCT table_id FROM gone"
)


def find_missing_snapshots(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find large tables without a snapshot, or without its file."""
    snapshots = Snapshot.objects.using(connection.alias)
    files = dict(snapshots.exclude(file="").values_list("pk", "file"))
    resources = Resource.objects.using(connection.alias)
    served = resources.annotate(
        cells=F("table_version__record_count") * Count("fields"), table=F("table_version")
    )
    large = served.filter(cells__gt=MAX_SMALL_CELLS).order_by("name")
    for resource_id, table_id in large.values_list("pk", "table"):
        file = files.get(table_id)
        if file and get_storage().exists(file):
            continue
        message = "This table has no snapshot: the first question about many records is slow."
        if file:
            message = f"The file {file} of the snapshot is not in the storage."
        mend = partial(_mend, resource_id)
        yield Finding("snapshot.missing", str(resource_id), message, mend, is_damage=bool(file))


def _mend(resource_id: uuid.UUID) -> None:
    resource = Resource.objects.described(resource_id)
    if resource.table_version is not None:
        make_snapshot(resource.table_version, resource.types)


def clean_up_snapshots() -> Iterator[str]:
    """Delete files that no table has, and what is noted of tables that are gone or have changed."""
    using = router.db_for_write(Snapshot)
    connection, folder = connections[using], get_folder()
    stored = Snapshot.objects.using(using).exclude(file="")
    oldest = timezone.now() - _MIN_AGE
    deleted = delete_stray_files(SNAPSHOTS_FOLDER, stored, oldest)
    known = {PurePath(file).name for file in stored.values_list("file", flat=True)}
    for path in (*folder.glob("*.duckdb"), *folder.glob(f"{MAKING}*")):
        with suppress(OSError):  # gone meanwhile
            if path.name not in known and path.stat().st_mtime < oldest.timestamp():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    if deleted:
        yield f"Deleted snapshots of tables that are gone: {deleted}."
    write_rows(connection, _FORGET)
    write_rows(connection, _MERGE, [MAX_CHANGES])

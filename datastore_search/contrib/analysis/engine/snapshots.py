"""
Snapshots: a file of DuckDB for each large table, and what has changed since it was made.

The triggers that note changes are there before the snapshot's transaction begins, so that each
transaction which it does not see is noted.  The files are in the portal's storage; each machine has
copies of those that it uses.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePath
from threading import Event, Thread
from time import monotonic, sleep
from typing import LiteralString

from django.core.files import File, locks
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, F
from django.db.transaction import TransactionManagementError
from django.utils import timezone
from psycopg import errors, sql

from ....conf import conf as core_conf
from ....database.findings import Finding
from ....database.placement import compile_version
from ....database.sessions import open_session
from ....database.statements import execute, fetch_value, renew_versions, write_rows
from ....database.tables import has_table, limit_lock_waits, name_record_table, quote_record_table
from ....field_types import field_types
from ....filters import Clause
from ....guards.folders import (
    delete_files,
    delete_stray_files,
    get_storage,
    list_missing_files,
    store_file,
)
from ....models import Resource, TableVersion
from ....search import ConsistentRead
from ..conf import conf
from ..errors import SnapshotBeingPrepared
from ..models import Snapshot
from .process import MAX_LINE_BYTES, Engine, EngineUnavailable, FileDamaged, get_folder, read_row

logger = logging.getLogger(__name__)

#: Tables with fewer cells have no snapshot: their records are read for each version.
MAX_SMALL_CELLS = 500_000

#: More changes than that are a reason for a new snapshot.
MAX_CHANGES = 50_000

#: The folder of snapshots within their storage.
SNAPSHOTS_FOLDER = "datastore_search/snapshots"

#: What the names of folders begin with in which files are made; a killed process leaves one.
MAKING = "making_"

#: How long the triggers of a table wait, and how often they are tried.
_TRIGGER_ATTEMPTS, _PAUSE_SECONDS = 5, 1.0

#: The time for the file of a snapshot.
_BUILD_SECONDS = 3600.0

_TRIGGERS: dict[str, LiteralString] = {
    "insert": "REFERENCING NEW TABLE AS changed",
    "update": "REFERENCING OLD TABLE AS before NEW TABLE AS changed",
    "delete": "REFERENCING OLD TABLE AS changed",
    "truncate": "",
}

_SERVER = (
    "SELECT concat(system_identifier, '/', (SELECT oid FROM pg_database"
    " WHERE datname = current_database())) FROM pg_control_system()"
)

# Making -------------------------------------------------------------------------------------------


def choose_duckdb_types(types: Sequence[str]) -> list[str]:
    """Choose the types of columns for types of fields; lists and nested values are texts."""
    kinds = [field_types[each].duckdb_type for each in types]
    return ["VARCHAR" if each == "JSON" or each.endswith("[]") else each for each in kinds]


def select_cells(names: Iterable[str]) -> Clause:
    """Select the texts of fields of a ``record``, each after a comma."""
    names = list(names)
    return Clause(sql.SQL(", record.data ->> %s" * len(names)), names)


def _notes_changes(connection: BaseDatabaseWrapper, table_id: int) -> bool:
    """Return whether a table has all of the triggers, and each is enabled."""
    count = (
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass(%s)"
        " AND starts_with(tgname, 'datastore_search_changes_') AND tgenabled IN ('O', 'A')"
    )
    return int(fetch_value(connection, count, [name_record_table(table_id)])) == len(_TRIGGERS)


def note_changes_of(connection: BaseDatabaseWrapper, table_id: int) -> None:
    """Let triggers note the changes of a table, from the end of this transaction on."""
    if _notes_changes(connection, table_id):
        return
    name = name_record_table(table_id)
    for attempt in range(1, _TRIGGER_ATTEMPTS + 1):
        try:
            with limit_lock_waits(connection) as cursor:
                for event, tables in _TRIGGERS.items():
                    create = sql.SQL(
                        f"CREATE OR REPLACE TRIGGER {{}} AFTER {event} ON {{}} {tables}"
                        " FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_note_changes({})"
                    ).format(
                        sql.Identifier(f"datastore_search_changes_{event}"),
                        sql.Identifier(name),
                        sql.Literal(str(table_id)),
                    )
                    cursor.execute(create)
        except OperationalError as error:
            is_locked = isinstance(error.__cause__, errors.LockNotAvailable)
            if not is_locked or attempt == _TRIGGER_ATTEMPTS:
                raise
            sleep(_PAUSE_SECONDS)  # writers that have waited behind it go first
        else:
            return


def make_snapshot(table_version: TableVersion, types: Mapping[str, str]) -> Snapshot | None:
    """
    Write the records of a table, as they are now, into a new file of the engine, and store it.

    ``types`` are the types of its fields by name.  None if the table is gone, or
    another process has stored one meanwhile.
    """
    using = router.db_for_write(TableVersion)
    connection, table_id = connections[using], table_version.pk
    if connection.in_atomic_block:
        raise TransactionManagementError("A snapshot is made of what is committed.")
    before, _is_new = Snapshot.objects.using(using).get_or_create(
        pk=table_id, defaults={"columns": [], "size_bytes": 0}
    )
    if not table_version.is_placed:
        note_changes_of(connection, table_id)
    folder = get_folder()
    name = f"{table_id}-{secrets.token_urlsafe(24)}.duckdb"
    with tempfile.TemporaryDirectory(prefix=MAKING, dir=folder) as working:
        values = _write_file(connection, table_version, types, Path(working, name))
        file = values["file"] = _store_file(Path(working, name))
        path = Path(working, name).replace(folder / PurePath(file).name)
    is_kept = False
    try:
        with transaction.atomic(using=using):
            same = Snapshot.objects.using(using).filter(pk=table_id, moment=before.moment)
            # A later snapshot than this one may have let the rows of changes be forgotten.
            if old := same.select_for_update().first():
                same.update(**values, created_at=timezone.now())
                forget = (
                    "DELETE FROM datastore_search_analysis_change WHERE table_id = %s"
                    " AND (pg_visible_in_snapshot(xid, %s::pg_snapshot)"
                    " OR xid >= pg_snapshot_xmax(pg_current_snapshot()))"  # of another server
                )
                if not table_version.is_placed:
                    execute(connection, forget, [table_id, values["moment"]])
        is_kept = old is not None
    finally:
        if not is_kept:
            _delete_file(file)
    if old is None:
        return None
    _delete_file(old.file)
    _make_room(path)
    return Snapshot(table_version=table_version, **values)


def _write_file(
    connection: BaseDatabaseWrapper,
    table_version: TableVersion,
    types: Mapping[str, str],
    path: Path,
) -> dict[str, object]:
    """Write the records into a file, and return the values of its row."""
    name, table = name_record_table(table_version.pk), quote_record_table(table_version.pk)
    rows, long_rows = path.with_name("rows.csv"), path.with_name("rows.json")
    cells = select_cells(types)
    copying = sql.SQL(
        "COPY (SELECT _id{} FROM {} AS record ORDER BY _id) TO STDOUT (FORMAT csv)"
    ).format(cells.text, table)
    read_version = compile_version(name).text
    limits = core_conf.DUMP_TIMEOUT, core_conf.LOAD_MEMORY_BYTES
    values: dict[str, object] = {"moment": "", "version": None}
    with open_session(connection, *limits, as_snapshot=True):
        ((moment, values["server"]),) = execute(
            connection, f"SELECT pg_current_snapshot()::text, ({_SERVER})"
        )
        if table_version.is_placed:
            ((values["version"],),) = execute(connection, read_version)
        else:
            values["moment"] = moment
        with (
            connection.cursor() as cursor,
            rows.open("wb") as opened,
            long_rows.open("w") as long,
            cursor.cursor.copy(copying, cells.parameters) as copy,
        ):
            for row in copy:
                if len(row) <= MAX_LINE_BYTES:
                    opened.write(row)
                else:
                    long.write(json.dumps(read_row(bytes(row))) + "\n")
        if table_version.is_placed and execute(connection, read_version) != [(values["version"],)]:
            raise EngineUnavailable  # each statement sees the worker's records as they are then
    builder = Engine()
    try:
        kinds = choose_duckdb_types(list(types.values()))
        columns = builder.build(path, rows, long_rows, kinds, _BUILD_SECONDS)
    finally:
        builder.close()
    values["columns"] = [
        [name, kind, asdict(each)]
        for (name, kind), each in zip(types.items(), columns, strict=True)
    ]
    values["size_bytes"] = path.stat().st_size
    return values


# Files --------------------------------------------------------------------------------------------


class SnapshotMissing(Exception):
    """A large table has no snapshot that can be used, or its file is not on this machine."""


def _store_file(path: Path) -> str:
    """Store a file, by a link where the storage is on the same disk, and return its name there."""
    storage, name = get_storage(), f"{SNAPSHOTS_FOLDER}/{path.name}"
    if isinstance(storage, FileSystemStorage):
        target = Path(storage.path(name))
        with suppress(OSError):  # another disk
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path)
            return name
    with path.open("rb") as opened:
        return store_file(name, File(opened))


def _copy_file(snapshot: Snapshot) -> None:
    """Copy the file of a snapshot to this machine.  Raises: ``FileDamaged``; as the storage."""
    storage, path = get_storage(), get_folder() / PurePath(snapshot.file).name
    with tempfile.TemporaryDirectory(prefix=MAKING, dir=path.parent) as working:
        copy = Path(working, path.name)
        if isinstance(storage, FileSystemStorage):
            with suppress(OSError):  # another disk, or no file
                copy.hardlink_to(storage.path(snapshot.file))
        if not copy.exists():
            try:
                with storage.open(snapshot.file) as stored, copy.open("wb") as opened:
                    shutil.copyfileobj(stored, opened, 2**20)
            except FileNotFoundError:
                raise FileDamaged from None
        if copy.stat().st_size != snapshot.size_bytes:
            raise FileDamaged
        copy.replace(path)
    _make_room(path)


def _make_room(used: Path) -> None:
    """Delete the copies that were not used for the longest time, but the one that is used now."""
    with suppress(OSError):  # another process deletes, too
        os.utime(used)
        files = [(each.stat(), each) for each in used.parent.glob("*.duckdb") if each != used]
        size = used.stat().st_size
        for status, path in sorted(files, key=lambda each: -each[0].st_mtime):
            size += status.st_size
            if size > conf.MAX_SNAPSHOTS_BYTES:
                path.unlink(missing_ok=True)


def _delete_file(name: str) -> None:
    """Delete a file in the storage and on this machine; what is left, a clean-up deletes."""
    if name:
        delete_files([name])
        with suppress(OSError):  # the folder is not this process's to write
            (get_folder() / PurePath(name).name).unlink(missing_ok=True)


def find_snapshot(read: ConsistentRead) -> Snapshot | None:
    """Find the snapshot of a read's table; None if there is none with the fields as they are."""
    snapshots = Snapshot.objects.using(read.connection.alias).exclude(file="")
    found = snapshots.filter(pk=read.resource.table_version_id).first()
    if found is None or not _has_fields(found, read.relation.types):
        return None
    return found if found.version in (None, read.resource.version) else None


def _has_fields(snapshot: Snapshot, types: Mapping[str, str]) -> bool:
    return [tuple(each[:2]) for each in snapshot.columns] == [*types.items()]


def fetch_file(snapshot: Snapshot) -> Path:
    """
    Return the path of a snapshot's file on this machine.

    Raises: ``SnapshotMissing`` if it must be copied from the storage; ``EngineUnavailable``.
    """
    try:
        path = get_folder() / PurePath(snapshot.file).name
        if path.stat().st_size == snapshot.size_bytes:
            os.utime(path)
            return path
    except FileNotFoundError:
        pass
    except OSError as error:
        logger.exception("The folder of snapshots cannot be read.")
        raise EngineUnavailable from error
    raise SnapshotMissing


def discard(snapshot: Snapshot) -> None:
    """Remove the file of a snapshot that is damaged; another is made."""
    logger.warning("The snapshot %s is damaged or missing, and is made anew.", snapshot.file)
    using = router.db_for_write(Snapshot)
    # The moment stays, and with it what was noted since.
    Snapshot.objects.using(using).filter(pk=snapshot.pk, file=snapshot.file).update(file="")
    _delete_file(snapshot.file)


# Preparing ----------------------------------------------------------------------------------------

#: The tables of which this process makes a snapshot, and until when none is made after a failure.
_waiting: dict[int, Event] = {}
_failed: dict[int, float] = {}
os.register_at_fork(after_in_child=_waiting.clear)  # the threads are not in the fork

#: Tables that may wait for their snapshots in a process.
_MAX_WAITING = 20

#: How long a snapshot that has failed twice is not tried again.
_FAILED_SECONDS = 60.0


def renew_snapshot(table_version: TableVersion, types: Mapping[str, str]) -> None:
    """Make the snapshot of a table unless it has one that can be used; have its file here."""
    using = router.db_for_write(TableVersion)
    with (get_folder() / "making").open("wb") as lock:
        locks.lock(lock, locks.LOCK_EX)  # one at a time on a machine: memory, disk
        snapshot = Snapshot.objects.using(using).filter(pk=table_version.pk).first()
        if snapshot and snapshot.file and _is_usable(connections[using], snapshot, types):
            try:
                try:
                    fetch_file(snapshot)
                except SnapshotMissing:
                    _copy_file(snapshot)
            except FileDamaged:
                discard(snapshot)
            else:
                return
        make_snapshot(table_version, types)


def _is_usable(
    connection: BaseDatabaseWrapper, snapshot: Snapshot, types: Mapping[str, str]
) -> bool:
    """Return whether a snapshot is of these fields, of this server, and has few changes."""
    if snapshot.version is not None:
        served = Resource.objects.using(connection.alias).filter(table_version=snapshot.pk)
        is_current = served.filter(version=snapshot.version).exists()
    else:
        statement = (
            f"SELECT ({_SERVER}) = %s AND count(*) <= %s AND count(*) = count(record_id)"
            " FROM datastore_search_analysis_change"
            " WHERE table_id = %s AND NOT pg_visible_in_snapshot(xid, %s::pg_snapshot)"
        )
        given = [snapshot.server, MAX_CHANGES // 2, snapshot.pk, snapshot.moment]
        ((is_current,),) = execute(connection, statement, given)
    return is_current and _has_fields(snapshot, types)


def prepare(read: ConsistentRead, seconds: float) -> None:
    """
    Have a snapshot of a read's table beside the request, and wait for it at most these seconds.

    Raises: ``SnapshotBeingPrepared``, ``EngineUnavailable``, unless ``seconds`` is 0.
    """
    table_version = read.resource.table_version
    if table_version is None:
        return
    is_done = begin_snapshot(table_version, dict(read.relation.types))
    if seconds and not (is_done and is_done.wait(seconds)):
        raise SnapshotBeingPrepared
    if seconds and table_version.pk in _failed:
        raise EngineUnavailable


def begin_snapshot(table_version: TableVersion, types: Mapping[str, str]) -> Event | None:
    """Make the snapshot of a table in a thread, if it needs one; None if too many tables wait."""
    table_id, mine = table_version.pk, Event()

    def work() -> None:
        try:
            renew_snapshot(table_version, types)
            _failed.pop(table_id, None)
        except Exception:
            logger.exception("The snapshot of table %s cannot be made.", table_id)
            # The first failure may be a killed process, or memory that was short for a moment.
            _failed[table_id] = monotonic() + (_FAILED_SECONDS if table_id in _failed else 0)
        finally:
            _waiting.pop(table_id, mine).set()
            connections.close_all()

    if _failed.get(table_id, 0.0) > monotonic():
        mine.set()
        return mine
    if len(_waiting) >= _MAX_WAITING and table_id not in _waiting:
        return None
    is_done = _waiting.setdefault(table_id, mine)
    if is_done is mine:
        try:
            Thread(target=work, name="datastore_search_snapshot", daemon=True).start()
        except RuntimeError:  # this process may have no more threads
            _waiting.pop(table_id, None)
            return None
    return is_done


def make_beside(table_version: TableVersion, types: Mapping[str, str]) -> Callable[[], object]:
    """Make the snapshot of a table that a load has filled, if it is large, beside the load."""
    connection = connections[router.db_for_write(TableVersion)]
    is_large = table_version.record_count * len(types) > MAX_SMALL_CELLS
    is_new = table_version.published_at is None
    if not is_large or connection.in_atomic_block or (is_new and table_version.is_placed):
        return lambda: None
    if is_new:
        note_changes_of(connection, table_version.pk)  # before its indexes are made: they lock it
    is_done = begin_snapshot(table_version, types)
    return partial(is_done.wait, _BUILD_SECONDS) if is_done else lambda: None


# Changes ------------------------------------------------------------------------------------------


def select_changes(snapshot: Snapshot, names: Sequence[str]) -> Clause:
    """
    Select the changed records: their ``_id``, whether they are there, and the texts of fields.

    Before these come two columns: whether the snapshot is of this server and still the one, or else
    changes may be forgotten; and whether the row is of a change; one without an ``_id`` stands for
    too many.  There is at least one row.
    """
    cells = select_cells(names)
    if snapshot.version is not None:  # of one version: nothing has changed
        none = sql.SQL(", NULL") * len(names)
        return Clause(sql.SQL("SELECT true, NULL, NULL, false{}").format(none))
    statement = sql.SQL(
        "SELECT head.is_known, noted.is_noted, noted.record_id, record._id IS NOT NULL{cells}"
        " FROM (SELECT ({server}) = {known} AND EXISTS (SELECT FROM {snapshots}"
        " WHERE table_version_id = {id} AND file = {file}) AS is_known) AS head LEFT JOIN ("
        "SELECT DISTINCT true AS is_noted, record_id FROM datastore_search_analysis_change"
        " WHERE table_id = {id} AND NOT pg_visible_in_snapshot(xid, {moment}::pg_snapshot)"
        " LIMIT {most}) AS noted ON true"
        " LEFT JOIN {table} AS record ON record._id = noted.record_id"
    ).format(
        id=sql.Literal(snapshot.pk),
        moment=sql.Literal(snapshot.moment),
        most=sql.Literal(MAX_CHANGES + 1),
        server=sql.SQL(_SERVER),
        known=sql.Literal(snapshot.server),
        snapshots=sql.Identifier(Snapshot._meta.db_table),
        file=sql.Literal(snapshot.file),
        cells=cells.text,
        table=quote_record_table(snapshot.pk),
    )
    return Clause(statement, cells.parameters)


def write_csv(rows: Iterable[Sequence[str | int | bool | None]]) -> bytes:
    """Write rows as PostgreSQL's CSV: texts are quoted, null is nothing."""
    lines = (
        ",".join(
            ""
            if cell is None
            else '"' + cell.replace('"', '""') + '"'
            if isinstance(cell, str)
            else str(cell).lower()
            for cell in row
        )
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines).encode()


# What is missing, and what is left --------------------------------------------------------------

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
    missing = list_missing_files(SNAPSHOTS_FOLDER, set(files.values()))
    resources = Resource.objects.using(connection.alias)
    served = resources.annotate(
        cells=F("table_version__record_count") * Count("fields"), table=F("table_version")
    )
    large = served.filter(cells__gt=MAX_SMALL_CELLS).order_by("name")
    for resource_id, table_id, is_placed in large.values_list(
        "pk", "table", "table_version__is_placed"
    ):
        if not has_table(connection, table_id):
            continue  # which is reported
        file, mend = files.get(table_id), partial(_mend, resource_id)
        if file and not is_placed and not _notes_changes(connection, table_id):
            message = "Changes of the records are not noted: answers about many may be wrong."
            yield Finding("trigger.disabled", str(resource_id), message, partial(mend, touch=True))
            continue
        if file and file not in missing:
            continue
        message = "This table has no snapshot: the first question about many records is slow."
        if file:
            message = f"The file {file} of the snapshot is not in the storage."
        yield Finding("snapshot.missing", str(resource_id), message, mend, is_damage=bool(file))


def _mend(resource_id: uuid.UUID, *, touch: bool = False) -> None:
    """Make the snapshot of a resource, and, for ``touch``, a version, if answers were wrong."""
    resource = Resource.objects.described(resource_id)
    if resource.table_version is not None:
        make_snapshot(resource.table_version, resource.types)
    if touch:
        renew_versions(connections[router.db_for_write(Resource)], resource_id)


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

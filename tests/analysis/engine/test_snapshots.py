"""The life of snapshots: made, stored, copied, damaged, replaced, removed."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction

from datastore_search.contrib.analysis.engine import snapshots, source
from datastore_search.contrib.analysis.engine.process import EngineUnavailable, engine, get_folder
from datastore_search.contrib.analysis.engine.snapshots import (
    discard,
    fetch_file,
    make_snapshot,
    renew_snapshot,
)
from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.contrib.analysis.errors import SnapshotBeingPrepared
from datastore_search.contrib.analysis.models import Snapshot
from datastore_search.contrib.files.jobs import load_file
from datastore_search.contrib.files.models import Mode
from datastore_search.contrib.files.tables.filling import create_indexes
from datastore_search.contrib.files.types.options import LoadOptions
from datastore_search.database.placement import name_version_table
from datastore_search.database.statements import execute, fetch_value
from datastore_search.database.tables import drop_record_table, name_record_table
from datastore_search.guards.folders import get_storage
from datastore_search.models import Resource
from datastore_search.search import ConsistentRead, Query, with_consistent_read

from ...builders import get_record_table, make_resource
from ...files.builders import load_csv
from .test_changes import TOUCH, TYPES, ask_both, get_version

pytestmark = pytest.mark.django_db(transaction=True)

STORAGES = {
    "disk": "django.core.files.storage.FileSystemStorage",
    "elsewhere": "django.core.files.storage.InMemoryStorage",
}
CSV = "name,n,price\n" + "".join(f"name {i % 7},{i},{i / 4}\n" for i in range(500))


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[Path]:
    for module in (source, snapshots):
        monkeypatch.setattr(module, "MAX_SMALL_CELLS", 0)
    settings.DATASTORE_SEARCH_SNAPSHOTS_FOLDER = str(tmp_path / "copies")
    settings.MEDIA_ROOT = str(tmp_path / "media")
    monkeypatch.setattr(snapshots, "_failed", {})
    engine.close()
    yield tmp_path
    engine.close()


@pytest.fixture(params=list(STORAGES))
def storage(request: pytest.FixtureRequest, settings: Any) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "datastore_search": {"BACKEND": STORAGES[request.param]},
    }


@pytest.fixture
def resource() -> Resource:
    return make_resource(CSV, types=TYPES)


def make(resource: Resource) -> Snapshot:
    made = make_snapshot(get_version(resource), TYPES)
    assert made
    return Snapshot.objects.get(pk=made.pk)


def find_copy(snapshot: Snapshot) -> Path:
    return get_folder() / PurePath(snapshot.file).name


def write(resource: Resource, statement: str) -> None:
    execute(connection, statement.format(get_record_table(resource)))
    execute(connection, TOUCH, [resource.pk])


def count_changes(table_id: int) -> int:
    count = "SELECT count(*) FROM datastore_search_analysis_change WHERE table_id = %s"
    return int(fetch_value(connection, count, [table_id]))


# Files --------------------------------------------------------------------------------------------


def delete_copy(snapshot: Snapshot) -> None:
    find_copy(snapshot).unlink()


def cut_copy(snapshot: Snapshot) -> None:
    path = find_copy(snapshot)
    content = path.read_bytes()
    path.unlink()  # the storage may have a link to it
    path.write_bytes(content[:5000])


def delete_both(snapshot: Snapshot) -> None:
    get_storage().delete(snapshot.file)
    delete_copy(snapshot)


def damage_both(snapshot: Snapshot) -> None:
    delete_both(snapshot)
    get_storage().save(snapshot.file, ContentFile(b"x" * snapshot.size_bytes))


def damage_blocks(snapshot: Snapshot) -> None:
    content = bytearray(find_copy(snapshot).read_bytes())
    delete_both(snapshot)
    for position in range(3 * 4096, len(content)):
        content[position] ^= 255
    get_storage().save(snapshot.file, ContentFile(bytes(content)))


FAULTS: dict[str, tuple[Callable[[Snapshot], None], bool]] = {
    "no copy": (delete_copy, True),
    "cut copy": (cut_copy, True),
    "no file": (delete_both, False),
    "damaged file": (damage_both, False),
    "damaged blocks": (damage_blocks, False),
}


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_fault_of_a_file(
    resource: Resource, fault: tuple[Callable[[Snapshot], None], bool]
) -> None:
    happens, is_kept = fault
    snapshot = make(resource)
    write(resource, "DELETE FROM {} WHERE _id % 3 = 0")
    happens(snapshot)
    found, expected = ask_both(resource)
    assert found == expected
    now = Snapshot.objects.get(pk=snapshot.pk)
    assert (now.file == snapshot.file) == is_kept
    assert get_storage().exists(now.file)
    assert find_copy(now).exists()


@pytest.mark.usefixtures("storage")
def test_blocks_are_damaged_while_the_file_is_open(resource: Resource) -> None:
    """DuckDB has read only the blocks that the first question needs."""
    snapshot = make(resource)

    def answer(read: ConsistentRead) -> int:
        found = Source(read, Query(limit=None), TYPES)
        now = Snapshot.objects.get(pk=snapshot.pk)
        if now.file == snapshot.file:
            path = find_copy(snapshot)
            with path.open("r+b") as opened:
                opened.seek(3 * 4096)
                opened.write(b"\xff" * (snapshot.size_bytes - 3 * 4096))
        return int(found.fetch("SELECT sum(c1) FROM matches")[0][0])

    assert with_consistent_read(resource.pk, answer) == sum(range(500))


@pytest.mark.usefixtures("storage")
def test_a_disk_has_one_copy_of_a_file(resource: Resource) -> None:
    snapshot = make(resource)
    is_linked = find_copy(snapshot).stat().st_nlink == 2
    assert is_linked == ("FileSystem" in type(get_storage()).__name__)


def test_copies_have_a_bounded_size(settings: Any, tmp_path: Path) -> None:
    made = [make(make_resource(CSV, types=TYPES)) for _ in range(3)]
    for age, each in enumerate(reversed(made)):
        os.utime(find_copy(each), (1e9 - age, 1e9 - age))
    fetch_file(made[0])
    settings.DATASTORE_SEARCH_MAX_SNAPSHOTS_BYTES = made[0].size_bytes * 3
    last = make(make_resource(CSV, types=TYPES))
    assert [find_copy(each).exists() for each in [*made, last]] == [True, False, True, True]
    settings.DATASTORE_SEARCH_MAX_SNAPSHOTS_BYTES = 1
    last = make(make_resource(CSV, types=TYPES))
    assert [*get_folder().glob("*.duckdb")] == [find_copy(last)]


@pytest.mark.usefixtures("storage")
def test_files_go_with_their_tables(resource: Resource) -> None:
    first, table = make(resource), get_version(resource).pk
    write(resource, "DELETE FROM {} WHERE _id = 1")
    second = make(resource)
    assert (first.file == second.file, get_storage().exists(first.file)) == (False, False)
    write(resource, "DELETE FROM {} WHERE _id = 2")
    assert count_changes(table) == 1
    with transaction.atomic():
        resource.delete()
        assert get_storage().exists(second.file)
    assert not get_storage().exists(second.file)
    assert not Snapshot.objects.exists()
    assert count_changes(table) == 0
    drop_record_table(connection, table)


def test_clean_up(resource: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = make(resource)
    name = f"{snapshots.SNAPSHOTS_FOLDER}/9-x.duckdb"
    get_storage().save(name, ContentFile(b"x"))
    (get_folder() / "9-x.duckdb").write_bytes(b"x")
    (get_folder() / "making_x").mkdir()
    (get_folder() / "making_x" / "rows.csv").write_bytes(b"x")
    execute(
        connection,
        "INSERT INTO datastore_search_analysis_change (table_id, record_id)"
        " SELECT %s, n FROM generate_series(1, 50001) AS n UNION ALL SELECT 999999, 1",
        [snapshot.pk],
    )
    call_command("datastore_cleanup")
    assert get_storage().exists(name)
    assert (count_changes(snapshot.pk), count_changes(999999)) == (1, 0)
    monkeypatch.setattr(snapshots, "_MIN_AGE", timedelta(0))
    call_command("datastore_cleanup")
    assert not get_storage().exists(name)
    assert {*get_folder().iterdir()} == {find_copy(snapshot)}
    found, expected = ask_both(resource)
    assert found == expected
    assert Snapshot.objects.get().file != snapshot.file


def find_codes() -> list[tuple[str, bool]]:
    found = snapshots.find_missing_snapshots(connection, set())
    codes = []
    for each in found:
        codes.append((each.code, each.is_damage))
        assert each.mend
        each.mend()
    return codes


def test_what_the_doctor_finds(resource: Resource) -> None:
    assert find_codes() == [("snapshot.missing", False)]
    assert find_codes() == []
    get_storage().delete(Snapshot.objects.get().file)
    assert find_codes() == [("snapshot.missing", True)]
    discard(Snapshot.objects.get())
    assert find_codes() == [("snapshot.missing", False)]
    assert find_codes() == []


@pytest.mark.parametrize("change", ["DISABLE TRIGGER USER", "DISABLE TRIGGER {}_insert"])
def test_the_doctor_finds_triggers_that_are_disabled(resource: Resource, change: str) -> None:
    make(resource)
    disable = f"ALTER TABLE {{}} {change.format('datastore_search_changes')}"
    write(resource, disable)
    write(resource, """INSERT INTO {} (data) VALUES ('{{"n": 1}}')""")
    wrong, expected = ask_both(resource)
    assert wrong != expected
    before = Resource.objects.get()

    assert find_codes() == [("trigger.disabled", True)]

    after = Resource.objects.get()
    assert (after.version > before.version, after.modified_at) == (True, before.modified_at)
    found, expected = ask_both(resource)
    assert found == expected
    assert find_codes() == []
    write(resource, """INSERT INTO {} (data) VALUES ('{{"n": 1}}')""")
    found, expected = ask_both(resource)
    assert found == expected


def test_the_doctor_makes_triggers_that_are_missing(resource: Resource) -> None:
    make(resource)
    write(resource, "DROP TRIGGER datastore_search_changes_update ON {}")

    assert find_codes() == [("trigger.disabled", True)]
    assert find_codes() == []
    execute(connection, f"DROP TABLE {get_record_table(resource)}")
    assert find_codes() == []  # the doctor reports the table itself


# Moments ------------------------------------------------------------------------------------------


def test_what_another_process_has_forgotten(resource: Resource) -> None:
    """A snapshot is made anew after a question has found the old one, and before its changes."""
    old = make(resource)
    write(resource, "DELETE FROM {} WHERE _id % 3 = 0")

    def answer(read: ConsistentRead) -> list[Any]:
        make(resource)
        assert count_changes(old.pk) == 0
        with pytest.MonkeyPatch.context() as patch:
            first = [old]
            find = snapshots.find_snapshot
            patch.setattr(
                source, "find_snapshot", lambda read: first.pop() if first else find(read)
            )
            patch.setattr(
                source, "fetch_file", lambda _snapshot: fetch_file(Snapshot.objects.get())
            )
            return Source(read, Query(limit=None), TYPES).fetch("SELECT count(*) FROM matches")

    assert with_consistent_read(resource.pk, answer) == [[500 - 166]]


def test_an_older_snapshot_does_not_replace_a_newer_one(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file, made = snapshots._write_file, []

    def write_slowly(*args: Any) -> Any:
        monkeypatch.setattr(snapshots, "_write_file", write_file)
        values = write_file(*args)
        write(resource, "DELETE FROM {} WHERE _id % 3 = 0")
        made.append(make_snapshot(get_version(resource), TYPES))
        return values

    monkeypatch.setattr(snapshots, "_write_file", write_slowly)
    assert make_snapshot(get_version(resource), TYPES) is None
    (newer,) = made
    assert newer is not None
    assert Snapshot.objects.get().file == newer.file
    assert [*get_folder().glob("*.duckdb")] == [find_copy(newer)]
    found, expected = ask_both(resource)
    assert found == expected


STALE = {
    "other server": "UPDATE datastore_search_analysis_snapshot SET server = '1/2'",
    "other fields": "UPDATE datastore_search_analysis_snapshot SET columns = '[]'",
    "many changes": "INSERT INTO datastore_search_analysis_change (table_id, record_id)"
    " SELECT table_version_id, n FROM datastore_search_analysis_snapshot,"
    " generate_series(1, 50001) AS n",
    "other xids": "INSERT INTO datastore_search_analysis_change (table_id, xid)"
    " SELECT table_version_id, '9999999999' FROM datastore_search_analysis_snapshot",
}


@pytest.mark.parametrize("statement", STALE.values(), ids=STALE)
def test_a_snapshot_that_cannot_be_used(resource: Resource, statement: str) -> None:
    before = make(resource)
    execute(connection, statement)
    found, expected = ask_both(resource)
    assert found == expected
    now = Snapshot.objects.get()
    assert now.file != before.file
    found, expected = ask_both(resource)
    assert found == expected
    assert Snapshot.objects.get().file == now.file


def test_snapshot_of_one_version(resource: Resource) -> None:
    """Tables on workers of Citus note no changes."""
    make(resource)
    version = Resource.objects.get().version
    Snapshot.objects.update(version=version, moment="")
    before = Snapshot.objects.get()
    assert ask_both(resource)[0] == ask_both(resource)[1]
    assert Snapshot.objects.get().file == before.file
    write(resource, "DELETE FROM {} WHERE _id % 3 = 0")
    found, expected = ask_both(resource)
    assert found == expected
    assert Snapshot.objects.get().file != before.file


@pytest.mark.parametrize("is_changed", [False, True], ids=["same", "changed"])
def test_version_of_a_placed_table(resource: Resource, is_changed: bool) -> None:
    """A worker's table beside the records has the version, which is read before and after them."""
    version = get_version(resource)
    version.is_placed = True
    beside = f'"{name_version_table(name_record_table(version.pk))}"'
    numbers = "nextval('numbers')" if is_changed else "7"
    execute(
        connection,
        f"CREATE SEQUENCE numbers; CREATE VIEW {beside} AS SELECT {numbers}::bigint AS version",
    )
    try:
        with pytest.raises(EngineUnavailable) if is_changed else nullcontext():
            make_snapshot(version, TYPES)
    finally:
        execute(connection, f"DROP VIEW {beside}; DROP SEQUENCE numbers")
    made = Snapshot.objects.get()
    assert (made.version, bool(made.file), made.moment) == (
        (None, False, "") if is_changed else (7, True, "")
    )
    noted = "SELECT count(*) FROM pg_trigger WHERE tgname = 'datastore_search_changes_insert'"
    table = f" AND tgrelid = '{get_record_table(resource)}'::regclass"
    assert fetch_value(connection, noted + table) == 0


# Making -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [0, 1], ids=["free", "locked"])
def test_triggers_wait_for_writers_and_do_not_keep_them(
    resource: Resource, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(snapshots, "_TRIGGER_ATTEMPTS", 2)
    errors: list[Exception] = []

    def run() -> None:
        try:
            for _ in range(2):
                snapshots.note_changes_of(connection, get_version(resource).pk)
        except OperationalError as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(3)]
    with transaction.atomic():
        if block:
            write(resource, "DELETE FROM {} WHERE _id = 1")
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(errors) == 3 * block


@pytest.mark.parametrize("failures", [1, 3])
def test_what_fails_twice_is_not_tried_again_at_once(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    tried = []

    def fail(*_args: Any) -> None:
        tried.append(1)
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "_write_file", fail)
        for _ in range(failures):
            with pytest.raises(EngineUnavailable):
                ask_both(resource)
    assert len(tried) == min(failures, 2)
    if failures > 1:
        snapshots._failed.clear()
    found, expected = ask_both(resource)
    assert found == expected


def test_a_snapshot_takes_longer_than_the_question(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=0.5)
    may_end, write_file = threading.Event(), snapshots._write_file

    def wait(*args: Any) -> Any:
        may_end.wait(20)
        return write_file(*args)

    monkeypatch.setattr(snapshots, "_write_file", wait)
    with pytest.raises(SnapshotBeingPrepared):
        ask_both(resource)
    done = snapshots._waiting[get_version(resource).pk]
    may_end.set()
    assert done.wait(20)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=20)
    found, expected = ask_both(resource)
    assert found == expected


def test_within_a_transaction_of_the_caller(resource: Resource) -> None:
    with transaction.atomic():
        found, expected = ask_both(resource)
        assert found == expected
        execute(connection, f"DELETE FROM {get_record_table(resource)} WHERE _id = 1")
        found, expected = ask_both(resource)
        assert found == expected
        with pytest.raises(transaction.TransactionManagementError):
            make_snapshot(get_version(resource), TYPES)


def test_values_too_long_for_csv() -> None:
    long = 'ab,"ü' * 500_000
    quoted = long.replace('"', '""')
    resource = make_resource(f'name,n,price\n"{quoted}",1,1.50\nx,2,2\n', types=TYPES)

    def answer(read: ConsistentRead) -> list[list[Any]]:
        return Source(read, Query(limit=None), TYPES).fetch(
            "SELECT _id, length(c0), md5(c0) = md5(?) FROM matches ORDER BY 1", long
        )

    assert with_consistent_read(resource.pk, answer) == [[1, len(long), True], [2, 1, False]]


@pytest.mark.parametrize("most_small_cells", [0, 1_000])
@pytest.mark.parametrize("value", ["a\rb", '"\r\n"', "\n\r"])
def test_texts_with_carriage_returns(
    value: str, most_small_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_SMALL_CELLS", most_small_cells)
    resource = make_resource('name,n,price\n"x",1,1.50\n,2,2\n', types=TYPES)
    write(
        resource, f"UPDATE {{}} SET data = jsonb_set(data, '{{{{name}}}}', '{json.dumps(value)}')"
    )

    def answer(read: ConsistentRead) -> list[list[Any]]:
        found = Source(read, Query(limit=None), TYPES)
        return found.fetch("SELECT _id, c0, c1 FROM matches ORDER BY 1")

    assert with_consistent_read(resource.pk, answer) == [[1, value, 1], [2, value, 2]]


# Loads --------------------------------------------------------------------------------------------


def test_loads_make_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.csv"
    path.write_text(CSV)
    resource = Resource.objects.create(name="r")
    load_file(resource, path)
    resource.refresh_from_db()
    first = Snapshot.objects.get()
    assert first.pk == resource.table_version_id
    monkeypatch.setattr(snapshots, "MAX_CHANGES", 200)
    path.write_text(CSV[:13] + "x,1,2\n" * 50)
    load_file(resource, path, options=LoadOptions(mode=Mode.APPEND))
    assert Snapshot.objects.get().file == first.file
    path.write_text(CSV[:13] + "x,1,2\n" * 500)
    load_file(resource, path, options=LoadOptions(mode=Mode.APPEND))
    appended = Snapshot.objects.get()
    assert (appended.pk, appended.file == first.file) == (first.pk, False)
    path.write_text(CSV)
    load_file(resource, path)
    replaced = Snapshot.objects.get()
    assert replaced.pk != first.pk
    assert not get_storage().exists(appended.file)


def test_a_snapshot_does_not_wait_for_the_indexes_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.csv"
    path.write_text(CSV)
    made: list[Snapshot] = []

    def create(*args: Any, **options: Any) -> None:
        ((table_id, is_done),) = snapshots._waiting.items()
        with transaction.atomic():
            execute(connection, f"LOCK TABLE {name_record_table(table_id)} IN SHARE MODE")
            assert is_done.wait(60)
        made.extend(Snapshot.objects.exclude(file=""))
        create_indexes(*args, **options)

    name = "datastore_search.contrib.files.publishing.publish.create_indexes"
    monkeypatch.setattr(name, create)
    monkeypatch.setattr(snapshots, "_TRIGGER_ATTEMPTS", 1)
    load_file(Resource.objects.create(name="r"), path)
    assert made == [Snapshot.objects.get()]


def test_a_load_does_not_need_its_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(snapshots, "_write_file", fail)
    path = tmp_path / "f.csv"
    path.write_text(CSV)
    resource = Resource.objects.create(name="r")
    assert load_file(resource, path).state == "ready"


def test_the_first_question_after_a_load_is_answered(resource: Resource) -> None:
    make(resource)
    ask_both(resource)  # the description stays in this process, as in others than that of the load

    load_csv(resource, "name,n,price\nnew,1,2.5\n", types=TYPES)

    found, expected = ask_both(resource)
    assert found == expected


def test_renewing_twice_makes_one(resource: Resource) -> None:
    renew_snapshot(get_version(resource), TYPES)
    first = Snapshot.objects.get()
    renew_snapshot(get_version(resource), TYPES)
    assert Snapshot.objects.get().file == first.file


def test_folder_of_another_user(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATASTORE_SEARCH_SNAPSHOTS_FOLDER = ""
    get_folder()
    me = os.getuid()
    folder = Path(tempfile.gettempdir(), f"datastore_search_snapshots_{me + 1}")
    folder.mkdir(exist_ok=True)
    try:
        monkeypatch.setattr(os, "getuid", lambda: me + 1)
        with pytest.raises(PermissionError):
            get_folder()
    finally:
        folder.rmdir()


def test_the_doctor_reports_what_it_cannot_make(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: Any) -> None:
        raise OSError("No space left on device")

    assert resource
    monkeypatch.setattr(snapshots, "_write_file", fail)
    call_command("datastore_doctor", "--fix")
    told = capsys.readouterr()
    assert "snapshot.missing" in told.out
    assert told.out.count("Not fixed.") == 1
    assert told.err.endswith("OSError: No space left on device\n")

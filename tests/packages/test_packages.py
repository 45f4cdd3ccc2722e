"""A resource that is exported and imported again answers as the first one."""

from __future__ import annotations

import json
import stat
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.test import Client

from datastore_search.dumping import formats
from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Alias, Load, Resource
from datastore_search.tokens import issue_token

from ..builders import act, get_result, load_csv, make_resource, make_token, make_writer_token
from ..management.test_commands import run_command

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("read_here")]

#: A field of each type, and records with the values that are changed most easily.
FIELDS: list[dict[str, Any]] = [
    {
        "id": "code",
        "type": "text",
        "info": {"label": " Code ", "notes": "Của trạm", "label_vi": "Mã", "unit": {"of": [1.5]}},
    },
    {"id": "small", "type": "int2"},
    {"id": "whole", "type": "int4"},
    {"id": "big", "type": "int8"},
    {"id": "exact", "type": "numeric"},
    {"id": "digits", "type": "numeric"},
    {"id": "double", "type": "float8"},
    {"id": "ok", "type": "bool"},
    {"id": "day", "type": "date"},
    {"id": "at", "type": "timestamp"},
    {"id": "zoned", "type": "timestamptz"},
    {"id": "clock", "type": "time"},
    {"id": "more", "type": "json"},
    {"id": "texts", "type": "_text"},
    {"id": "wholes", "type": "_int4"},
    {"id": "bigs", "type": "_int8"},
    {"id": "doubles", "type": "_float8"},
    {"id": "oks", "type": "_bool"},
    {"id": "Tên “lạ” %s", "type": "text"},
]
RECORDS: list[dict[str, Any]] = [
    {
        "code": ' a\r\n"b",c ', "small": -32768, "whole": 2**31 - 1, "big": -(2**63),
        "exact": "12345678901234567890.1050", "digits": "1.50", "double": "1e300", "ok": True,
        "day": "0001-01-01", "at": "2020-02-29T12:34:56.789012",
        "zoned": "2020-02-29T12:00:00+07:00", "clock": "23:59:59.5",
        "more": {"k": ["1.50", 1.50, None, "null", {"": "𝛼"}]},
        "texts": ["x", None, "", "null", 'q"\\'], "wholes": [1, None, -1], "bigs": [2**63 - 1],
        "doubles": [0.1, None, 1e22], "oks": [True, None, False], "Tên “lạ” %s": "NULL",
    },
    {"code": "b", "digits": "1.5", "exact": "-0.1000", "double": "NaN", "ok": False,
     "at": "9999-12-31T23:59:59", "more": "", "texts": [],
     "wholes": [], "Tên “lạ” %s": "NA"},
    {"code": "001", "digits": "100", "exact": "0.0000", "double": "-Infinity", "more": [],
     "day": "2020-02-29", "Tên “lạ” %s": "\\N"},
    {"code": "true", "double": 5, "more": 0, "Tên “lạ” %s": "\ufeff"},
    {"code": "=1+1", "more": "null"},
]  # fmt: skip
METADATA = {
    "title": "Trạm", "description": "Line 1\n\n*Line* 2", "content_language": "vi",
    "translations": {"en": {"title": "Stations"}}, "license": "CC-BY-4.0",
    "source": "https://example.org/a b", "publisher": "Sở", "contact": "Office",
    "contact_email": "a@example.org", "tags": ["water", "nước"], "spatial": "Hà Nội",
    "frequency": "monthly", "temporal_start": "2020-01-01", "temporal_end": "2020-12-31",
    "version_date": "2021-01-01",
}  # fmt: skip


@pytest.fixture
def stations(no_resource: None) -> Resource:
    """A private resource of the API with all there is."""
    token = make_writer_token()
    created = get_result(
        act(
            Client(),
            "datastore_create",
            {
                "resource": {"name": "stations"}, "fields": FIELDS, "primary_key": ["code"],
                "records": RECORDS, "aliases": ["the stations"],
                "indexes": ["whole"],
            },
            token,
        ),
        "datastore_create",
    )  # fmt: skip
    resource = Resource.objects.get(pk=created["resource_id"])
    for name, value in METADATA.items():
        setattr(resource, name, value)
    resource.name, resource.private, resource.language = "stations", True, "simple"
    resource.indexes = ["filters", "words"]
    resource.save()
    return Resource.objects.get(pk=resource.pk)


def collect_answers(resource: Resource) -> dict[str, Any]:
    """Collect what the API, the dump and the descriptions tell of a resource."""
    client, token = Client(), make_token_of_reader()
    parameters = {"resource_id": str(resource.pk), "sort": "_id", "include_total": True}
    records = act(client, "datastore_search", parameters, token).content.decode()
    dump: Any = client.get(
        f"/en/datastore/dump/{resource.pk}?format=ndjson", headers={"Authorization": token}
    )
    described = act(client, "datastore_info", {"id": str(resource.pk)}, token)
    info = get_result(described, "datastore_info")
    fields = [
        (each["id"], each["type"], each.get("info"), each["schema"]["native_type"])
        for each in info["fields"]
    ]
    return {
        "records": records.partition('"records":')[2].partition(',"_links"')[0],
        "dump": b"".join(dump.streaming_content).decode(),
        "fields": fields,
        "found": get_result(
            act(client, "datastore_search", {**parameters, "q": "null"}, token)
        )["total"],
    }  # fmt: skip


def make_token_of_reader() -> str:
    user = get_user_model().objects.filter(username="reader").first()
    return issue_token(user) if user else make_token()


def export(resource: Resource, folder: Path) -> Path:
    path = folder / "package.zip"
    run_command("export_resource", str(resource.pk), path)
    return path


def import_again(path: Path, *arguments: str) -> Resource:
    run_command("import_resource", path, "--new-id", "--name", "again", *arguments)
    return Resource.objects.get(name="again")


def test_every_value_and_description_comes_back(stations: Resource, tmp_path: Path) -> None:
    before = collect_answers(stations)

    again = import_again(export(stations, tmp_path))

    assert collect_answers(again) == before
    assert "1.50" in before["dump"]
    assert "12345678901234567890.1050" in before["dump"]
    for name in (*METADATA, "private", "language", "indexes", "primary_key"):
        assert getattr(again, name) == getattr(stations, name), name
    old, new = (list(each.fields.values()) for each in (stations, again))
    for field in (*old, *new):
        del field["id"], field["resource_id"], field["is_sparse"], field["has_order_index"]
    assert new == old
    assert again.table_version
    assert stations.table_version
    assert again.table_version.origin == stations.table_version.origin == "api"
    assert again.table_version.language == "simple"
    assert again.options == {}
    assert not again.aliases.exists()


def test_the_package_is_a_data_package_with_parquet(stations: Resource, tmp_path: Path) -> None:
    path = export(stations, tmp_path)

    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        package = json.loads(archive.read("datapackage.json"))
        archive.extract("records.parquet", tmp_path)
    (table,) = package["resources"]
    assert (package["title"], package["title@en"], package["keywords"]) == (
        "Trạm", "Stations", ["nước", "water"],
    )  # fmt: skip
    assert (table["path"], table["format"], table["schema"]["primaryKey"]) == (
        "records.parquet", "parquet", ["code"],
    )  # fmt: skip
    columns = pq.read_schema(tmp_path / "records.parquet")
    assert columns.names == [field["name"] for field in table["schema"]["fields"]]
    assert columns.names == [field["id"] for field in FIELDS]
    # Different digits after the point need texts, the same ones are decimals.
    assert [str(columns.field(name).type) for name in ("exact", "digits", "whole", "zoned")] == [
        "decimal128(38, 4)", "string", "int32", "timestamp[us, tz=UTC]",
    ]  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {each.name for each in tmp_path.iterdir()} == {"records.parquet", path.name}


def test_records_are_numbered_anew_in_their_order(db: None, tmp_path: Path) -> None:
    resource = make_resource("code\na\nb\nc\n")
    writer = make_writer_token()
    deleted = {"id": str(resource.pk), "filters": {"_id": 1}, "force": True}
    assert act(Client(), "datastore_records_delete", deleted, writer).status_code == 200

    again = import_again(export(resource, tmp_path))

    found = get_result(act(Client(), "datastore_search", {"id": str(again.pk)}))
    assert found["records"] == [{"_id": 1, "code": "b"}, {"_id": 2, "code": "c"}]


def test_a_resource_without_records_comes_back(db: None, tmp_path: Path) -> None:
    writer = make_writer_token()
    made = {"resource": {"name": "empty"}, "fields": [{"id": "n", "type": "numeric"}]}
    assert act(Client(), "datastore_create", made, writer).status_code == 200

    again = import_again(export(Resource.objects.get(), tmp_path))

    assert [(field.name, field.type) for field in again.fields.all()] == [("n", "numeric")]
    assert get_result(act(Client(), "datastore_search", {"id": str(again.pk)}))["total"] == 0


def test_an_import_takes_no_name_of_another_resource(stations: Resource, tmp_path: Path) -> None:
    path = export(stations, tmp_path)
    stations.delete()
    other = Resource.objects.create(name="the stations", private=True)
    Alias.objects.create(resource=other, name="stations")

    for arguments in ((), ("--name", str(other.pk)), ("--name", "new", "--aliases")):
        with pytest.raises(CommandError, match=r"already exists|is taken"):
            run_command("import_resource", path, *arguments)

    assert Resource.objects.get() == other


def test_a_resource_moves_with_its_id_name_and_aliases(stations: Resource, tmp_path: Path) -> None:
    before = collect_answers(stations)
    path, resource_id = export(stations, tmp_path), stations.pk
    stations.delete()

    out, _err = run_command("import_resource", path, "--aliases")

    moved = Resource.objects.get(pk=resource_id)
    assert out == f"Resource {moved.pk} (stations): 5 records.\n"
    assert [alias.name for alias in moved.aliases.all()] == ["the stations"]
    assert collect_answers(moved) == before
    load_csv(moved, "code,whole\nx,7\n")  # its next file is read as any file


def test_a_resource_that_is_there_is_replaced_by_choice_alone(
    stations: Resource, tmp_path: Path
) -> None:
    before = collect_answers(stations)
    path = export(stations, tmp_path)
    load_csv(stations, "other\n1\n")
    Resource.objects.update(name="renamed", title="Other", private=False, indexes=None)
    changed = collect_answers(stations)

    with pytest.raises(CommandError, match=r"“renamed”\. Replace it by --replace"):
        run_command("import_resource", path)
    assert collect_answers(stations) == changed
    run_command("import_resource", path, "--replace")

    replaced = Resource.objects.get()
    assert collect_answers(replaced) == before
    assert (replaced.name, replaced.title, replaced.private) == ("renamed", "Trạm", True)
    assert replaced.indexes == ["filters", "words"]


def test_what_is_taken_here_is_refused_in_words(stations: Resource, tmp_path: Path) -> None:
    path = export(stations, tmp_path)

    with pytest.raises(CommandError, match="already exists"):
        run_command("import_resource", path, "--new-id")
    with pytest.raises(CommandError, match="the stations"):
        run_command("import_resource", path, "--new-id", "--name", "again", "--aliases")

    assert Resource.objects.count() == 1
    assert Alias.objects.get().resource == stations


def test_an_export_says_in_words_why_it_fails(
    resource: Resource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="“nothing”"):
        run_command("export_resource", "nothing", tmp_path / "a.zip")
    with pytest.raises(CommandError, match="cannot be written"):
        run_command("export_resource", resource.name, tmp_path / "no" / "a.zip")
    with pytest.raises(CommandError, match="There is no file"):
        run_command("import_resource", tmp_path / "a.zip")
    monkeypatch.setattr(formats, "_is_installed", lambda _package: False)
    with pytest.raises(CommandError, match="must install pyarrow"):
        run_command("export_resource", resource.name, tmp_path / "a.zip")

    assert not list(tmp_path.iterdir())


def test_an_export_that_breaks_off_leaves_no_file(
    resource: Resource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"old")

    def fail(_resource: Resource) -> dict[str, Any]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("datastore_search.packages.exporting.build_descriptor", fail)
    with pytest.raises(CommandError, match="No space left"):
        run_command("export_resource", resource.name, path)

    assert (list(tmp_path.iterdir()), path.read_bytes()) == ([path], b"old")


# Packages of others -------------------------------------------------------------------------------


#: The package of ``stations``, once it is made.
_packages: list[bytes] = []


@pytest.fixture
def package(no_resource: None, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The package of ``stations``, which are not there any more."""
    if not _packages:
        stations = request.getfixturevalue("stations")
        _packages.append(export(stations, tmp_path).read_bytes())
        stations.delete()
    path = tmp_path / "package.zip"
    path.write_bytes(_packages[0])
    return path


def rewrite(path: Path, **members: bytes | None) -> Path:
    """Write a package again with other members, by the beginnings of their names."""
    changed = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for info in old.infolist():
            data = members.get(info.filename.partition(".")[0], old.read(info))
            if data is not None:
                new.writestr(info, data, zipfile.ZIP_DEFLATED)
    return changed


def change_descriptor(path: Path, change: Any) -> Path:
    with zipfile.ZipFile(path) as archive:
        package = json.loads(archive.read("datapackage.json"))
    change(package["datastore"])
    return rewrite(path, datapackage=json.dumps(package).encode())


def check_refused(path: Path, message: str, *arguments: str) -> None:
    with pytest.raises(CommandError, match=message) as refusal:
        run_command("import_resource", path, *arguments)
    assert "Traceback" not in str(refusal.value)
    assert not Resource.objects.exists()
    assert not Load.objects.exists()


def set_value(*names: str | int, value: Any) -> Any:
    def change(own: Any) -> None:
        for name in names[:-1]:
            own = own[name]
        own[names[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_value("name", value={"a": 1}), "“name” has a value that cannot be used"),
        (set_value("name", value="two words"), "letters, numbers"),
        (set_value("title", value="x" * 301), "300"),
        (set_value("title", value="a\0b"), "character that cannot be stored"),
        (set_value("title", value="\ud800"), "character that cannot be stored"),
        (set_value("private", value="no"), "“private” has a value"),
        (set_value("language", value="klingon"), "klingon"),
        (set_value("indexes", value=["everything"]), "“indexes” has a value"),
        (set_value("translations", value={"en": "x"}), "translations"),
        (set_value("translations", value={"xx-yy-zz": {"title": "x"}}), "code of a language"),
        (set_value("metadata", value={"contact_email": "nobody"}), "valid email"),
        (set_value("metadata", value={"tags": "water"}), "list of texts"),
        (set_value("primary_key", value=["other"]), "its key names a field"),
        (set_value("aliases", value=['a"b']), "alias"),
        (set_value("origin", value="heaven"), "“origin” has a value"),
        (set_value("id", value="1"), "“id” has a value"),
        (set_value("version", value=2), "not written by export_resource of this version"),
        (set_value("fields", value=[]), "its fields have no names"),
        (set_value("fields", 0, "type", value="blob"), "no field type “blob”"),
        (set_value("fields", 0, "extra_info", value=[]), "“extra_info” has a value"),
        (set_value("fields", 0, "label", value="x" * 501), "500"),
        (set_value("fields", 1, "name", value="_id"), "other fields than its descriptor"),
        (lambda own: own["fields"].pop(), "other fields than its descriptor"),
        (lambda own: own["fields"].reverse(), "other fields than its descriptor"),
        (lambda own: own.pop("aliases"), "“aliases” is missing"),
        (set_value("fields", 0, "type", value="int4"), "Rows that cannot be loaded"),
        (set_value("primary_key", value=["ok"]), "Rows that cannot be loaded"),
    ],
)
def test_a_descriptor_that_lies_is_refused_in_words(
    package: Path, change: Any, message: str
) -> None:
    check_refused(change_descriptor(package, change), message)


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (b"", "not valid JSON"),
        (b"[1,", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" * 200 + b"]" * 200, "nested too deep"),
        (b"[]", "not written by export_resource"),
        (b'{"datastore": {"version": NaN}}', "not valid JSON"),
        (b'{"datastore": {"version": 1}}', "“fields” is missing"),
        (b" " * (16 * 2**20 + 1), "larger than 16777216 bytes"),
        (b" " * (65 * 2**20), "taken for an attack"),
        (None, "holds no file “datapackage.json”"),
    ],
)
def test_a_descriptor_that_is_none_is_refused_in_words(
    package: Path, descriptor: bytes | None, message: str
) -> None:
    check_refused(rewrite(package, datapackage=descriptor), message)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (b"", "empty"),
        (b"PAR1 damaged PAR1", "damaged"),
        (b"code\na\n", "other fields than its descriptor"),
        (b"PK\x05\x06" + bytes(18), "archive"),
        (bytes(70 * 2**20), "taken for an attack"),
        (None, "holds no file “records.parquet”"),
    ],
)
def test_records_that_are_none_are_refused_in_words(
    package: Path, records: bytes | None, message: str
) -> None:
    check_refused(rewrite(package, records=records), message)


def test_a_file_that_is_no_package_is_refused_in_words(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "rivers.csv"
    path.write_text("code\na\n")
    check_refused(path, "not a zip archive")
    whole = package.read_bytes()
    for kept in (len(whole) - 40, len(whole) // 2, 40):
        path.write_bytes(whole[:kept])
        check_refused(path, "ends too early")


def test_a_damaged_stream_is_refused_in_words(package: Path) -> None:
    whole = package.read_bytes()
    with zipfile.ZipFile(package) as archive:
        ends = [info.header_offset + 120 for info in archive.infolist()]
    for position in (*ends, len(whole) // 2):
        package.write_bytes(
            whole[:position] + bytes([whole[position] ^ 255]) + whole[position + 1 :]
        )
        check_refused(package, "damaged|not valid JSON")


def test_members_elsewhere_are_not_written(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package, "a") as archive:
        archive.writestr("../../escaped.txt", "x")
        archive.writestr("/tmp/escaped.txt", "x")

    run_command("import_resource", package)

    assert Resource.objects.get().name == "stations"
    assert not list(tmp_path.parent.glob("**/escaped.txt"))


def test_a_refused_package_leaves_the_resource_as_it_was(
    stations: Resource, tmp_path: Path
) -> None:
    path = change_descriptor(export(stations, tmp_path), lambda own: own["fields"].reverse())
    Resource.objects.update(private=False, language="english", indexes=None)
    before = collect_answers(stations), Resource.objects.values().get()

    with pytest.raises(CommandError, match="other fields"):
        run_command("import_resource", path, "--replace")

    after = collect_answers(stations), Resource.objects.values().get()
    for values in (before[1], after[1]):
        del values["version"], values["modified_at"]
    assert after == before


def test_a_large_resource_takes_little_memory(tmp_path: Path) -> None:
    """The records of a package are never in memory at once."""
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("n,text\n")
        file.writelines(f"{number},{'x' * 200}{number}\n" for number in range(100_000))
    resource = Resource.objects.create(name="large")
    load_file(resource, path, options=LoadOptions())
    tracemalloc.start()
    try:
        again = import_again(export(resource, tmp_path))
        _size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < path.stat().st_size / 2
    assert again.table_version
    assert again.table_version.record_count == 100_000

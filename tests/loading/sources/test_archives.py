"""What is unpacked, and what is not."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from django.test import override_settings

from datastore_search.exceptions.loads import LoadFailed
from datastore_search.loading.sources import archives, limits
from datastore_search.loading.sources.archives import is_workbook, unpack
from datastore_search.loading.sources.folders import create_working_folder
from datastore_search.loading.sources.limits import ReadingLimits

from ...failures import fails_with

PLAIN = b"id,name\n1,Anna\n"


def packed(content: bytes) -> bytes:
    """Pack a content, at whatever time, to the same bytes: they name tests."""
    return gzip.compress(content, mtime=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def content_of(path: Path, member: str = "", name: str = "file") -> tuple[bytes, str]:
    with create_working_folder() as folder:
        found = unpack(path, name, folder, ReadingLimits.for_file(path), member=member)
        assert found.path == path or found.path.parent == folder
        return found.path.read_bytes(), found.name


def test_a_plain_file_is_itself(path: Path) -> None:
    path.write_bytes(PLAIN)

    assert content_of(path) == (PLAIN, "file")


def test_a_gzip_has_its_name_without_the_ending(path: Path) -> None:
    path.write_bytes(gzip.compress(PLAIN))

    assert content_of(path, name="data.geojson.gz") == (PLAIN, "data.geojson")


def test_parts_of_a_gzip_make_one_file(path: Path) -> None:
    path.write_bytes(gzip.compress(b"id\n") + gzip.compress(b"1\n"))

    assert content_of(path)[0] == b"id\n1\n"


def test_the_whole_name_of_a_file_comes_before_the_last_part_of_another(path: Path) -> None:
    zipped(path, {"x/data.csv": b"x\n", "data.csv": b"y\n"})

    assert content_of(path, "data.csv") == (b"y\n", "data.csv")
    assert content_of(path, "x/data.csv") == (b"x\n", "data.csv")


def test_two_files_with_the_same_last_part_need_the_whole_name(path: Path) -> None:
    zipped(path, {"x/data.csv": b"x\n", "y/data.csv": b"y\n"})

    with fails_with("archive.several_members"):
        content_of(path, "data.csv")


def test_hidden_files_and_folders_do_not_count(path: Path) -> None:
    zipped(path, {"a/": b"", "a/data.csv": PLAIN, "a/.hidden": b"", "__MACOSX/a/._data.csv": b""})

    assert content_of(path) == (PLAIN, "data.csv")
    with fails_with("archive.unknown_member", match=r"“a/data\.csv”"):
        content_of(path, ".hidden")


def test_only_some_of_many_names_are_listed(path: Path) -> None:
    zipped(path, {f"{number}.csv": b"" for number in range(100)})

    with fails_with("archive.several_members") as refusal:
        content_of(path)

    assert "“19.csv”" in str(refusal.value)
    assert "“20.csv”" not in str(refusal.value)


@pytest.mark.parametrize("pack", ["gzip", "zip"])
@override_settings(DATASTORE_SEARCH_MAX_UNPACKED_BYTES=1_000)
def test_more_than_the_setting_is_not_unpacked(path: Path, pack: str) -> None:
    content = bytes(1_001)
    if pack == "gzip":
        path.write_bytes(gzip.compress(content))
    else:
        zipped(path, {"a": content})

    with fails_with("archive.too_large", match="1000 bytes"):
        content_of(path)


@override_settings(DATASTORE_SEARCH_MAX_UNPACKED_RATIO=10)
def test_what_swells_too_much_is_an_attack_unless_it_is_small(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MIN_UNPACKED_BYTES", 100_000)
    path.write_bytes(gzip.compress(bytes(100_000)))
    assert len(content_of(path)[0]) == 100_000

    path.write_bytes(gzip.compress(bytes(100_001)))
    with fails_with("archive.suspicious", match="10 times"):
        content_of(path)


def test_a_list_of_very_many_files_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped(path, {"a": b"", "b": b""})
    monkeypatch.setattr(archives, "_MAX_LIST_BYTES", 50)

    with fails_with("archive.too_many_members"):
        content_of(path)


def test_the_length_of_the_list_is_found_in_a_zip_of_the_large_kind(path: Path) -> None:
    content = bytearray(
        zipped(path, {f"{number:05}": b"" for number in range(70_000)}).read_bytes()
    )
    length = 70_000 * (46 + 5)
    assert archives._measure_list(path) == length

    content[-10:-6] = b"\xff" * 4
    path.write_bytes(bytes(content))
    assert archives._measure_list(path) == length


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (packed(PLAIN)[:15], "archive.truncated"),
        (packed(PLAIN)[:4], "archive.truncated"),
        (packed(PLAIN) + b"more", "archive.damaged"),
        (b"\x1f\x8bnot a gzip", "archive.damaged"),
        (packed(packed(PLAIN)), "archive.nested"),
        (b"PK\x03\x04 is no zip", "archive.truncated"),
        (b"PK\x03\x04" + b"PK\x05\x06" + b"\xff" * 18, "archive.damaged"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(path: Path, content: bytes, failure: str) -> None:
    path.write_bytes(content)

    with fails_with(failure):
        content_of(path)


@pytest.mark.parametrize("at", range(0, 180, 7))
def test_a_damaged_zip_never_fails_unexpectedly(path: Path, at: int) -> None:
    content = bytearray(zipped(path, {"data.csv": PLAIN * 20}).read_bytes())
    content[at % len(content)] ^= 0xFF
    path.write_bytes(bytes(content))

    try:
        found, _name = content_of(path)
    except LoadFailed:
        return
    assert found in {PLAIN * 20, bytes(content)}


def test_a_workbook_is_no_archive(path: Path) -> None:
    content = zipped(path, {"[Content_Types].xml": b"", "xl/workbook.xml": b""}).read_bytes()

    assert is_workbook(path)
    assert content_of(path)[0] == content

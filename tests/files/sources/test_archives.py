"""Archives that are unpacked, and those that are refused."""

from __future__ import annotations

import gzip
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from django.test import override_settings

from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.sources import limits
from datastore_search.contrib.files.sources.archives import is_workbook, unpack
from datastore_search.contrib.files.sources.limits import ReadingLimits
from datastore_search.guards.folders import create_working_folder

from ..builders import fails_with

PLAIN = b"id,name\n1,Anna\n"


def build_gzip(content: bytes) -> bytes:
    """Compress to the same bytes at any time, because they are part of test ids."""
    return gzip.compress(content, mtime=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def read_content(path: Path, member: str = "", name: str = "file") -> tuple[bytes, str]:
    with create_working_folder() as folder:
        limits = ReadingLimits(path.stat().st_size)
        source, own_name = unpack(path, name, folder, limits, member=member)
        assert source == path or source.parent == folder
        return source.read_bytes(), own_name


@pytest.mark.parametrize(
    ("content", "name", "unpacked"),
    [
        (PLAIN, "file", (PLAIN, "file")),
        (build_gzip(PLAIN), "data.geojson.gz", (PLAIN, "data.geojson")),
        (build_gzip(b"id\n") + build_gzip(b"1\n"), "file", (b"id\n1\n", "file")),
    ],
    ids=["plain", "gzip", "gzip of two parts"],
)
def test_a_file_is_itself_and_a_gzip_has_its_name_without_the_ending(
    path: Path, content: bytes, name: str, unpacked: tuple[bytes, str]
) -> None:
    path.write_bytes(content)

    assert read_content(path, name=name) == unpacked


def test_a_whole_name_comes_before_a_last_part_which_must_be_of_one_file(path: Path) -> None:
    write_zip(path, {"x/data.csv": b"x\n", "data.csv": b"y\n"})
    assert read_content(path, "data.csv") == (b"y\n", "data.csv")
    assert read_content(path, "x/data.csv") == (b"x\n", "data.csv")

    write_zip(path, {"x/data.csv": b"x\n", "y/data.csv": b"y\n"})
    with fails_with("archive.several_members"):
        read_content(path, "data.csv")


def test_hidden_files_and_folders_do_not_count(path: Path) -> None:
    write_zip(
        path, {"a/": b"", "a/data.csv": PLAIN, "a/.hidden": b"", "__MACOSX/a/._data.csv": b""}
    )

    assert read_content(path) == (PLAIN, "data.csv")
    with fails_with("archive.unknown_member", match=r"“a/data\.csv”"):
        read_content(path, ".hidden")


def test_only_some_of_many_names_are_listed(path: Path) -> None:
    write_zip(path, {f"{number}.csv": b"" for number in range(100)})

    with fails_with("archive.several_members") as refusal:
        read_content(path)

    assert "“19.csv”" in str(refusal.value)
    assert "“20.csv”" not in str(refusal.value)


@override_settings(DATASTORE_SEARCH_MAX_UNPACKED_BYTES=1_000)
def test_more_than_the_setting_is_not_unpacked(path: Path) -> None:
    path.write_bytes(build_gzip(bytes(1_001)))
    with fails_with("archive.too_large", match="1000 bytes"):
        read_content(path)
    write_zip(path, {"a": bytes(1_001)})
    with fails_with("archive.too_large", match="1000 bytes"):
        read_content(path)


def test_what_swells_too_much_is_an_attack_unless_it_is_small(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_UNPACKED_RATIO", 10)
    monkeypatch.setattr(limits, "MIN_UNPACKED_BYTES", 100_000)
    path.write_bytes(gzip.compress(bytes(100_000)))
    assert len(read_content(path)[0]) == 100_000

    path.write_bytes(gzip.compress(bytes(100_001)))
    with fails_with("archive.suspicious", match="10 times"):
        read_content(path)


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (build_gzip(PLAIN)[:15], "archive.truncated"),
        (build_gzip(PLAIN)[:4], "archive.truncated"),
        (build_gzip(PLAIN) + b"more", "archive.damaged"),
        (b"\x1f\x8bnot a gzip", "archive.damaged"),
        (build_gzip(build_gzip(PLAIN)), "archive.nested"),
        (b"PK\x03\x04 is no zip", "archive.truncated"),
        (b"PK\x03\x04" + b"PK\x05\x06" + b"\xff" * 18, "archive.damaged"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(path: Path, content: bytes, failure: str) -> None:
    path.write_bytes(content)

    with fails_with(failure):
        read_content(path)


def test_a_damaged_zip_never_fails_unexpectedly(path: Path) -> None:
    whole = write_zip(path, {"data.csv": PLAIN * 20}).read_bytes()
    for at in range(0, 180, 7):
        content = bytearray(whole)
        content[at % len(content)] ^= 0xFF
        path.write_bytes(bytes(content))
        with suppress(LoadFailed):
            assert read_content(path)[0] in {PLAIN * 20, bytes(content)}


def test_a_workbook_is_no_archive(path: Path) -> None:
    content = write_zip(path, {"[Content_Types].xml": b"", "xl/workbook.xml": b""}).read_bytes()

    assert is_workbook(path)
    assert read_content(path)[0] == content

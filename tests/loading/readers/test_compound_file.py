"""Chains of sectors in an XLS."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from datastore_search.loading.readers.compound_file import check_compound_file

from ...failures import fails_with
from ..torture.cases import FILES

_SECTOR_BYTES = 512
_WHOLE = (FILES / "cells.xls").read_bytes()
_SECTOR_COUNT = len(_WHOLE) // _SECTOR_BYTES - 1

Damage = Callable[[bytearray], None]


def _get_start(content: bytearray, number: int) -> int:
    return _SECTOR_BYTES * (number + 1)


def _unpack(content: bytearray, place: int) -> int:
    return int(struct.unpack_from("<I", content, place)[0])


def _set_next(content: bytearray, number: int, following: int) -> None:
    """Set the sector that follows another one."""
    fat = _get_start(content, _unpack(content, 76))
    struct.pack_into("<I", content, fat + 4 * number, following)


def _loop_directory(content: bytearray) -> None:
    _set_next(content, _unpack(content, 48), _unpack(content, 48))


def _loop_stream(content: bytearray) -> None:
    """The third sector of the workbook leads back to the first."""
    _set_next(content, 2, 0)


def _loop_list_of_fat(content: bytearray) -> None:
    struct.pack_into("<I", content, 68, 0)
    struct.pack_into("<I", content, _get_start(content, 0) + _SECTOR_BYTES - 4, 0)


def _leave_file(content: bytearray) -> None:
    struct.pack_into("<I", content, 48, _SECTOR_COUNT)
    _set_next(content, _SECTOR_COUNT, 0xFFFFFFFE)


def _claim_fat(content: bytearray) -> None:
    struct.pack_into("<I", content, 44, 2**31)


def _claim_sectors(content: bytearray) -> None:
    struct.pack_into("<H", content, 30, 31)


def _cut_header(content: bytearray) -> None:
    del content[200:]


@pytest.mark.parametrize(
    "damage",
    [
        _loop_directory,
        _loop_stream,
        _loop_list_of_fat,
        _leave_file,
        _claim_fat,
        _claim_sectors,
        _cut_header,
    ],
)
def test_a_damaged_chain_is_refused(damage: Damage, tmp_path: Path) -> None:
    path, content = tmp_path / "upload.xls", bytearray(_WHOLE)
    damage(content)
    path.write_bytes(content)

    with fails_with("workbook.damaged"):
        check_compound_file(path)


@pytest.mark.parametrize("name", ["cells.xls", "edges_1904.xls", "errors.xls", "old.xls"])
def test_a_whole_file_passes(name: str) -> None:
    check_compound_file(FILES / name)


def test_a_file_whose_last_sector_is_cut_short_passes(tmp_path: Path) -> None:
    path = tmp_path / "upload.xls"
    path.write_bytes(_WHOLE[:-100])

    check_compound_file(path)

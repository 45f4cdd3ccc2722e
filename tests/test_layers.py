"""The contracts of import-linter name every room of the core, and every contrib app."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import datastore_search

PACKAGE = Path(datastore_search.__file__).parent
PROJECT = PACKAGE.parent / "pyproject.toml"
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["name"]: contract
    for contract in tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
}

FLOORS = "The rooms of the core are floors"
APART = "The core knows no contrib app"
BESIDE = "Contrib apps stand side by side"


def list_modules(folder: Path) -> set[str]:
    """The modules and packages of a folder, as dotted names."""
    names = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    prefix = ".".join(folder.relative_to(PACKAGE.parent).parts)
    return {f"{prefix}.{name}" for name in names - {"__init__"}}


def list_core() -> set[str]:
    return list_modules(PACKAGE) - {"datastore_search.contrib"}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(CONTRACTS[APART]["source_modules"], id=APART),
        pytest.param(
            [name for layer in CONTRACTS[FLOORS]["layers"] for name in re.split(" [|:] ", layer)],
            id=FLOORS,
        ),
    ],
)
def test_each_room_of_the_core_is_named(names: list[str]) -> None:
    assert sorted(names) == sorted(list_core())


def test_each_contrib_app_is_named() -> None:
    assert set(CONTRACTS[BESIDE]["modules"]) == list_modules(PACKAGE / "contrib")

"""Contracts name each room and app, no import is a circle, and only types name types."""

from __future__ import annotations

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest

import datastore_search
from datastore_search.field_types import field_types

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


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("datastore_search", cache_dir=None)

    order = TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).static_order()

    assert len([*order]) == len(graph.modules) > 200  # a circle raises ``CycleError``


def list_strings(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_no_module_but_those_of_the_types_names_three_types() -> None:
    """Its entry says what a type is: a new type would be missing in such a list."""
    own = {*(PACKAGE / "field_types").glob("*.py"), *PACKAGE.glob("**/migrations/*.py")}
    named = {
        str(path.relative_to(PACKAGE)): sorted(list_strings(path) & field_types.keys())
        for path in {*PACKAGE.glob("**/*.py")} - own
    }

    assert {name: types for name, types in named.items() if len(types) > 2} == {}

"""The files with the versions that ``make setup`` installs, and the packages that need no extra."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "constraints").glob("python*.txt"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

_LINE = re.compile(r"([A-Za-z0-9._-]+)==([^\s;@]+)")

#: The build system is kept, too; pip leaves setuptools out of its list.
_BUILD_SYSTEM, _NOT_LISTED = "hatchling", {"datastore-search", "setuptools"}


def read_versions(path: Path) -> dict[str, Version]:
    """Read a file of which every line is the version of a package, and no address."""
    matches = [_LINE.fullmatch(line) for line in path.read_text().splitlines()]
    assert None not in matches
    return {canonicalize_name(match[1]): Version(match[2]) for match in matches if match}


def list_requirements(python: str) -> list[Requirement]:
    """List what the package and all its extras require under a Python."""
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for each in extras.values() for text in each)]
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    required = map(Requirement, texts)
    return [each for each in required if not each.marker or each.marker.evaluate(environment)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_versions_are_those_that_the_project_allows(path: Path) -> None:
    versions = read_versions(path)
    required = {
        canonicalize_name(each.name): each.specifier
        for each in list_requirements(path.stem.removeprefix("python"))
        if each.name not in _NOT_LISTED
    }

    assert _BUILD_SYSTEM in versions
    assert required.keys() <= versions.keys()
    assert [name for name in required if versions[name] not in required[name]] == []


def test_there_is_a_file_for_each_python() -> None:
    classifiers = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))

    assert [path.stem for path in FILES] == [f"python{version}" for version in classifiers]


def test_the_documentation_says_why_each_core_package_is_there() -> None:
    page = (ROOT / "docs" / "reference" / "dependencies.md").read_text()
    core, _, extras = page.partition("## Extras")

    assert set(re.findall(r"^\| \[([^\]]+)\]", core, re.MULTILINE)) == {
        Requirement(text).name for text in PROJECT["dependencies"]
    }
    assert set(re.findall(r"^\| `([a-z]+)`", extras, re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    ) - {"test", "docs", "audit"}

"""Comments and docstrings name modules, files and decisions that exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from datastore_search.contrib.files.messages.catalogue import TEMPLATES

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "datastore_search"

#: Names of PostgreSQL, of its types and of CKAN's actions in the texts of packages.
_OF_OTHERS = frozenset({"datastore_search", "int", "int4", "to_jsonb"})

#: A dotted name, and a path with a folder.
_NAME = re.compile(r"``([a-z]\w*(?:\.\w+)+)(?:\(\))?``")
_WORD = re.compile(r"``([a-z]\w*)``")
_PATH = re.compile(r"``((?:docs|sql|[\w/]+/sql)/[\w/.-]+)``")
_DECISION = re.compile(r"(?:[Dd]ecisions?[ /]|ADR )(\d{4})")
_FILE = re.compile(r"\.(?:css|h|html|js|json|md|py|sql|svg|vcl)$")


class Text(NamedTuple):
    file: Path
    line: int
    text: str


@cache
def list_texts() -> list[Text]:
    return [text for file in sorted(PACKAGE.rglob("*.py")) for text in find_texts(file)]


def find_texts(file: Path) -> Iterator[Text]:
    source = file.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(file, token.start[0], token.string)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield Text(file, getattr(node, "lineno", 1), text)


@cache
def list_identifiers(file: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        for attribute in ("id", "arg", "attr", "name", "value"):
            value = getattr(node, attribute, None)
            if isinstance(value, str):
                names.add(value)
    return frozenset(names)


def find_name(parts: list[str], folder: Path) -> bool:
    """Return whether a folder has a module of this name, and that the attribute of the rest."""
    for number, part in enumerate(parts):
        if (folder / part).is_dir():
            folder /= part
            continue
        module, rest = folder / f"{part}.py", parts[number + 1 :]
        if not module.exists():
            module, rest = folder / "__init__.py", parts[number:]
            if number == 0 or not module.exists():
                return False
        return not rest or re.search(rf"\b{rest[0]}\b", module.read_text()) is not None
    return True


def is_known(name: str, file: Path) -> bool:
    """Return whether a dotted name is a module, an attribute of one, a message or another's."""
    parts = name.split(".")
    above = [folder for folder in file.parents if folder == PACKAGE or PACKAGE in folder.parents]
    return (
        name in TEMPLATES
        or any(find_name(parts, folder) for folder in (ROOT, PACKAGE / "contrib", *above))
        or parts[0] in list_identifiers(file)
        or find_spec(parts[0]) is not None
        or parts[0] == "ckan"  # a setting of CKAN
    )


def test_dotted_names_are_those_of_modules() -> None:
    unknown = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file, line, text in list_texts()
        for name in _NAME.findall(text)
        if not _FILE.search(name) and not is_known(name, file)
    ]

    assert len(list_texts()) > 3_000
    assert unknown == []


def test_packages_name_what_they_have() -> None:
    unknown = [
        f"{file.relative_to(ROOT)}: {name}"
        for file, _line, text in list_texts()
        if file.name == "__init__.py"
        for name in {*_WORD.findall(text)} - _OF_OTHERS
        if not any(
            (folder / each).exists()
            for folder in (file.parent, PACKAGE, PACKAGE / "contrib")
            for each in (name, f"{name}.py")
        )
        and not any(name in list_identifiers(each) for each in file.parent.rglob("*.py"))
    ]

    assert unknown == []


def test_paths_are_those_of_files() -> None:
    unknown = [
        f"{file.relative_to(ROOT)}:{line}: {path}"
        for file, line, text in list_texts()
        for path in _PATH.findall(text)
        if not [*ROOT.glob(f"{path}*"), *PACKAGE.rglob(path)]
    ]

    assert unknown == []


def test_decisions_exist() -> None:
    numbers = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    cited = [
        (f"{file.relative_to(ROOT)}:{line}", number)
        for file, line, text in list_texts()
        for number in _DECISION.findall(text)
    ]

    assert len(cited) > 20
    assert [each for each in cited if each[1] not in numbers] == []


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("search.query", True),
        ("search.query.Query", True),
        ("search.Query", True),
        ("storage.Session", False),
        ("search.querying", False),
        ("django.utils.html", True),
        ("file.empty", True),
    ],
)
def test_the_search_for_names_finds_what_is_there(name: str, is_there: bool) -> None:
    assert is_known(name, PACKAGE / "conf.py") is is_there

"""The documentation knows everything that the code offers, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import datastore_search
from datastore_search.api.envelope import _TYPES
from datastore_search.api.parameters import SearchParameters
from datastore_search.conf import Settings

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(datastore_search.__file__).parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def settings() -> list[str]:
    return [name for name, value in vars(Settings).items() if isinstance(value, property)]


def commands() -> list[str]:
    folder = PACKAGE / "management" / "commands"
    return [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]


def check_ids() -> list[str]:
    return re.findall(
        r'id="(datastore_search\.[EW]\d+)"', (PACKAGE / "checks.py").read_text(encoding="utf-8")
    )


def links(page: Path) -> list[tuple[Path, str]]:
    """The files and anchors that a page's relative links name."""
    targets = [
        target for target in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target
    ]
    named = [target.partition("#")[::2] for target in targets]
    return [((page.parent / file).resolve() if file else page, anchor) for file, anchor in named]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("name", settings())
def test_every_setting_is_in_the_reference(name: str) -> None:
    assert f"| `DATASTORE_SEARCH_{name}` |" in (REFERENCE / "settings.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", list(SearchParameters().fields))
def test_every_parameter_is_in_the_reference(name: str) -> None:
    assert f"| `{name}` |" in (REFERENCE / "datastore_search.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", commands())
def test_every_command_is_in_the_reference(name: str) -> None:
    assert f"## `{name}`" in (REFERENCE / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("identifier", check_ids())
def test_every_check_is_in_the_reference(identifier: str) -> None:
    assert f"| `{identifier}` |" in (REFERENCE / "checks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("status", "kind"), list(_TYPES.items()))
def test_every_type_of_error_is_in_the_reference(status: int, kind: str) -> None:
    assert f"| {status} | `{kind}` |" in (REFERENCE / "datastore_search.md").read_text(
        encoding="utf-8"
    )


def test_the_code_offers_something_of_each_kind() -> None:
    assert all([settings(), commands(), check_ids(), _TYPES, SearchParameters().fields])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), file
        assert not anchor or anchor in anchors(file), f"{file}#{anchor}"


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_every_page_is_in_the_navigation(page: Path) -> None:
    name = str(page.relative_to(ROOT / "docs"))
    assert f": {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

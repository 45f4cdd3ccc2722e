"""The browser of the tests of pages, and axe-core, which comes with a Python package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource

#: Besides these, no two landmarks of a page have one name.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

CHECK = """
const done = arguments[arguments.length - 1];
axe.run(document, {
    runOnly: arguments[0], rules: {"landmark-unique": {enabled: true}}, resultTypes: ["violations"],
}).then(
    (found) => done(found.violations.map((each) => [
        each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)),
    ])),
    (error) => done([["error", [String(error)]]]),
);
"""


@pytest.fixture
def browser(browser: Chrome) -> Iterator[Chrome]:
    """A browser that does not wait for what a page may not have, such as chips."""
    browser.implicitly_wait(0)
    yield browser
    browser.implicitly_wait(30)


@pytest.fixture
def sample(transactional_db: None) -> Iterator[Resource]:
    """The large sample of the example project."""
    folder = Path(__file__).parents[2] / "example_project" / "sample_data"
    resource = Resource.objects.create(name="survey", title="Watershed survey programme")
    load_file(resource, folder / "watershed_survey.csv", options=LoadOptions())
    yield resource
    resource.delete()


@pytest.fixture
def page(live_server: Any, sample: Resource) -> str:
    """The address of its data page."""
    return f"{live_server.url}/en/datastore/{sample.pk}/"


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that checks a page."""
    file = distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    return Path(str(file)).read_text(encoding="utf-8")


def list_violations(browser: Chrome) -> list[Any]:
    """Return the rules that the page breaks, and elements that break them."""
    found: list[Any] = browser.execute_async_script(CHECK, RULES)
    return found

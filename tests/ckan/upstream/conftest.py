"""CKAN's own tests of the DataStore, from a checkout that ``CKAN_SOURCE`` names, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from datastore_search.api.actions import actions

from .stand_ins import FOLDER, SOURCE, Finder, Rights, StandIn, portal

#: The tests that must not pass, below the reasons.  CKAN's tests are collected in its place.
_TABLE = Path(__file__).parent / "differences.txt"


class UpstreamTests(pytest.File):
    def collect(self) -> Iterable[pytest.Module]:
        with Finder():
            for path in sorted(FOLDER.glob("test_*.py")):
                nodeid = self.nodeid.replace(_TABLE.name, path.name)
                values: Any = {"path": path, "name": path.name, "nodeid": nodeid}
                module: pytest.Module = pytest.Module.from_parent(self, **values)
                assert module.obj  # imports it
                yield module


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ckan_config(name, value): CKAN has this setting")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect nothing without a checkout; the header of the run says it."""
    is_table = SOURCE and file_path == _TABLE
    return UpstreamTests.from_parent(parent, path=file_path) if is_table else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each test of the table fail, and no other."""
    reason, reasons = "", {}
    for line in filter(None, _TABLE.read_text().splitlines()):
        if line.startswith(" "):
            reasons[line.strip()] = reason
        else:
            reason = line
    found = [item for item in items if item.getparent(UpstreamTests)]
    for item in found:
        item.add_marker(pytest.mark.django_db(transaction=True))
        if text := reasons.pop(item.nodeid.partition("/upstream/")[2], None):
            item.add_marker(pytest.mark.xfail(reason=text, strict=True))
    if found and reasons:
        raise pytest.UsageError(f"CKAN_SOURCE has no such tests: {', '.join(reasons)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = [
        report.outcome
        for outcome in ("passed", "xfailed", "failed", "error")
        for report in terminalreporter.getreports(outcome)
        if "ckan/upstream/" in report.nodeid
    ]
    if found:
        passed = f"{found.count('passed')} of {len(found)}"
        terminalreporter.write_line(f"CKAN's own tests: {passed} pass")


@pytest.fixture(autouse=True)
def server(live_server: Any, request: Any, settings: Any, monkeypatch: Any) -> Iterator[None]:
    """A server with the settings that CKAN has in a test, as far as there are such."""
    backends = settings.AUTHENTICATION_BACKENDS
    settings.AUTHENTICATION_BACKENDS = [*backends, f"{Rights.__module__}.Rights"]
    for marker in request.node.iter_markers("ckan_config"):
        match marker.args:
            case "ckan.datastore.search.rows_max", limit:
                settings.DATASTORE_SEARCH_MAX_LIMIT = int(limit)
            case "ckan.datastore.sqlsearch.enabled", None | False:
                monkeypatch.delitem(actions, "datastore_search_sql")
    portal.open(live_server.url.replace("localhost", "127.0.0.1"))
    monkeypatch.setattr(StandIn, "is_call_refused", True)
    with Finder():
        yield


app = pytest.fixture(lambda: portal)
test_request_context = pytest.fixture(lambda: nullcontext)
#: Each test has an empty database, and CKAN's plugins are not installed.
clean_datastore = clean_db = clean_index = pytest.fixture(lambda: None)
with_plugins = with_request_context = clean_db

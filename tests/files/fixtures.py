"""Fixtures of tests that load files, and the queue of loads in all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from datastore_search.contrib.files.jobs import queue
from datastore_search.models import Resource

from ..shared import ModuleTransaction, commits, restore_shared_resource
from .builders import make_loaded_resource
from .reading import read_in_test_process


@pytest.fixture(autouse=True)
def no_wait_for_a_commit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run queued loads immediately in tests that are one transaction, and so never commit."""
    if not commits(request):
        monkeypatch.setattr(queue, "run_on_commit", lambda call: call())


@pytest.fixture
def read_here() -> Iterator[None]:
    with read_in_test_process():
        yield


@pytest.fixture(scope="module")
def _loaded_survey(module_transaction: ModuleTransaction) -> Resource:
    return make_loaded_resource()


@pytest.fixture
def loaded(_loaded_survey: Resource, db: None) -> Resource:
    """A public resource with ``builders.SURVEY``, loaded from a file."""
    return restore_shared_resource(_loaded_survey) or make_loaded_resource()

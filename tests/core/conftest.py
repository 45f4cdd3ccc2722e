"""
The tests of the core, where no contrib app is installed.

``needing_contrib.txt`` lists tests that still ask a contrib app for something: with the core alone
they are left out.  A line is to go when its test has moved to the folder of the app.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

_LIST = Path(__file__).with_name("needing_contrib.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the list where no contrib app is installed."""
    if any(".contrib." in name for name in settings.INSTALLED_APPS if name.startswith("datastore")):
        return
    listed = set(_LIST.read_text().splitlines())
    left = [item for item in items if item.nodeid.removeprefix("tests/core/") in listed]
    config.hook.pytest_deselected(items=left)
    out = set(left)
    items[:] = [item for item in items if item not in out]

"""The assertion that a file cannot be loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from datastore_search.contrib.files.messages import LoadFailed


@contextmanager
def fails_with(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[LoadFailed]]:
    """Expect that a load fails with a code, and with a message that matches a pattern."""
    with pytest.raises(LoadFailed, match=match) as caught:
        yield caught
    assert caught.value.code == code
    assert not re.search(r"\bNone\b|%\(", str(caught.value))  # each value has its place

"""One way to expect that a file cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from datastore_search.exceptions.loads import LoadFailed


@contextmanager
def fails_with(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[LoadFailed]]:
    """Expect a failure of a load with a code, and a message that a pattern is found in."""
    with pytest.raises(LoadFailed, match=match) as caught:
        yield caught
    assert caught.value.code == code

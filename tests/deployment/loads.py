"""Load small files into the portals of the tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.models import Load, Mode
from datastore_search.models import Resource

from ..files.reading import read_in_test_process


def load_text(resource: Resource, text: str, mode: str = Mode.REPLACE, **options: Any) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.csv")
        path.write_text(text)
        with read_in_test_process():
            return load_file(resource, path, options=LoadOptions(mode=mode, **options))

"""The attacked tables: loaded once, and reused by the next run."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from django.test import override_settings

from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Resource

from ..data import Source
from ..resources import load_resource

_FAT_BYTES = 110_000
#: The default memory of a load is too small for texts of this size.
_LOAD_MEMORY_BYTES = 4 * 2**30
_WORDS = [f"{random.Random(number).getrandbits(40):010x}" for number in range(500)]
_FIELDS = {"number": "int4", "text": "text"}


def load_table(rows: int) -> str:
    """Load a table of this number of records, unless it exists; return its id."""
    with tempfile.TemporaryDirectory() as folder:
        return load_resource(Source(Path(folder)), rows, reload=False).id


def load_fat_table(records: int) -> str:
    """Load a table of records of 110 kB, unless it exists; return its id."""
    resource, _ = Resource.objects.get_or_create(name=f"abuse-fat-{records}")
    if resource.table_version_id is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fat.csv"
            with path.open("w", encoding="utf-8") as file:
                file.write("number,text\n")
                file.writelines(f"{number},{build_fat_text(number)}\n" for number in range(records))
            with override_settings(DATASTORE_SEARCH_LOAD_MEMORY_BYTES=_LOAD_MEMORY_BYTES):
                load_file(resource, path, options=LoadOptions(types=_FIELDS, force=True))
    return str(resource.pk)


def build_fat_text(number: int) -> str:
    """Build a text of 110 kB from few distinct words, because many take minutes to index."""
    return " ".join(random.Random(number).choices(_WORDS, k=_FAT_BYTES // 11))

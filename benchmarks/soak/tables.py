"""The tables of a soak, whose every right answer is known."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.core.management import call_command

from datastore_search.contrib.files.jobs import load_file, submit_load
from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

#: One record in this number has the word that is searched for.
MATCHING_EVERY = 5

#: Records of the first version of the replaced table; each later one has one more.
_FIRST_VERSION_ROWS = 11_000


@dataclass(frozen=True, slots=True)
class Tables:
    """The ids of the tables, and a token of a user who may write."""

    fixed: str
    rows: int
    replaced: str
    written: str
    token: str


def create_tables(rows: int) -> Tables:
    """Create a table that never changes, one that is replaced, and one that is written to."""
    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_superuser("soak")
    fixed = Resource.objects.create(name="fixed")
    replaced = Resource.objects.create(name="replaced")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        path.write_text(write_fixed_rows(rows))
        load_file(fixed, path)
        path.write_bytes(_write_version(0))
        load_file(replaced, path)
    written = Resource.objects.create(name="written")
    return Tables(str(fixed.pk), rows, str(replaced.pk), str(written.pk), issue_token(user))


def write_fixed_rows(rows: int) -> str:
    """Write the CSV of the table that never changes."""
    lines = (
        f"{row},{'river' if row % MATCHING_EVERY == 0 else 'lake'} number {row}\n"
        for row in range(1, rows + 1)
    )
    return "number,text\n" + "".join(lines)


def submit_version(resource_id: str, version: int) -> Load:
    """Queue a load that replaces a table by one of its versions."""
    resource = Resource.objects.get(pk=resource_id)
    return submit_load(resource, file=ContentFile(_write_version(version), name="version.csv"))


def count_version_rows(version: int) -> int:
    """Return the number of records of a version."""
    return _FIRST_VERSION_ROWS + version


def _write_version(version: int) -> bytes:
    return b"version,text\n" + b"%d,lake\n" % version * count_version_rows(version)

"""
A migration that has landed is never edited, nor is the SQL that it runs.

``frozen_migrations.txt`` has the SHA-256 digests of each migration, of each ``.sql`` file, and of
the statements of each migration that has some, because helpers write a part of them.  A new
migration adds its lines, and so does a new ``.sql`` file.  No line is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path

from django.apps import apps
from django.db.migrations import RunSQL
from django.db.migrations.loader import MigrationLoader

import datastore_search

_PACKAGE = Path(datastore_search.__file__).parent
_FROZEN = Path(__file__).parent / "frozen_migrations.txt"


def _read_frozen() -> dict[str, str]:
    """Read the digests by name."""
    lines = _FROZEN.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def _digest_files() -> dict[str, str]:
    """Compute the digest of each migration, and of each file of SQL."""
    paths = chain(_PACKAGE.glob("**/migrations/[0-9]*.py"), _PACKAGE.glob("**/*.sql"))
    return {
        path.relative_to(_PACKAGE).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def _digest_statements() -> Iterator[tuple[str, str]]:
    """Compute the digest of the statements of each installed migration that has some."""
    ours = {
        each.label for each in apps.get_app_configs() if each.name.startswith("datastore_search")
    }
    for (label, name), migration in MigrationLoader(None).disk_migrations.items():
        operations = [each for each in migration.operations if isinstance(each, RunSQL)]
        if label in ours and operations:
            texts = "\0".join(f"{each.sql}\0{each.reverse_sql}" for each in operations)
            yield f"{label} {name}", sha256(texts.encode()).hexdigest()


def test_no_landed_migration_and_no_sql_of_it_is_edited() -> None:
    found = _digest_files() | dict(_digest_statements())
    frozen = _read_frozen()

    changed = sorted(name for name, digest in found.items() if frozen.get(name, digest) != digest)
    assert not changed, "These are frozen. Write a new migration, with its SQL in a new file."
    new = sorted(f"{digest}  {name}" for name, digest in found.items() if name not in frozen)
    assert not new, f"Add to {_FROZEN.name} the lines of what is new:\n" + "\n".join(new)
    assert {name for name in frozen if "/" in name} <= set(found), "A frozen file was removed."

"""The tests of the API and of CKAN's answers, on a coordinator with two workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scale.citus import Cluster

_ROOT = Path(__file__).parents[2]

#: What these tests do to a record table, or ask of it, Citus does not let an ordinary client do:
#: ``ALTER COLUMN search DROP EXPRESSION`` and views in the place of tables, to make reads slow or
#: damaged; ``EXPLAIN ANALYZE`` of a plan; and ``ALTER DATABASE``, which makes the workers read-only
#: as well, where nothing is undone.
_NOT_WITH_CITUS = (
    "tests/core/search/test_plans.py",
    "tests/core/search/test_substrings.py",
    "tests/core/api/test_dumping.py",
    "tests/core/api/test_http_caching.py",
    "tests/core/api/test_large_answers.py",
    "tests/core/api/test_portals.py::test_a_database_that_refuses_to_write_is_503_and_says_so",
)


@pytest.mark.parametrize("folder", ["ckan", "search", "api", "analysis"])
def test_the_api_conforms(cluster: Cluster, folder: str, tmp_path: Path) -> None:
    database = f"test_{folder}"
    tmp_path.chmod(0o700)  # a package of the suite asks for it
    url = cluster.create_database(database).replace(database, folder)
    path = "tests/analysis" if folder == "analysis" else f"tests/core/{folder}"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--reuse-db", path]
    environment = {**os.environ, "DATABASE_URL": url, "PLACEMENT": "citus"}
    environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    run = subprocess.run(
        [*command, *(f"--deselect={each}" for each in _NOT_WITH_CITUS)],
        env=environment,
        cwd=_ROOT, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stdout[-5000:]
    assert " passed" in run.stdout

"""A portal with Wagtail is tested in a process of its own, since it has other apps."""

from __future__ import annotations

import sys

from ..processes import run_program


def test_the_admin_of_wagtail_leads_to_tables_and_chooses_them() -> None:
    settings = "--ds=tests.wagtail.settings"

    done = run_program(
        sys.executable, "-m", "pytest", "-q", "-n", "0", settings, "tests/wagtail/portal.py"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout

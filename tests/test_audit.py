"""The audit of the installed packages: what it reads from pip-audit."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

AUDIT = Path(__file__).resolve().parent.parent / ".ci" / "audit.py"


def test_packages_that_could_not_be_audited_do_not_count_as_safe() -> None:
    report = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]},
            {"name": "b", "version": "2", "vulns": []},
            {"name": "c", "skip_reason": "Dependency not found on PyPI"},
        ]
    }

    find_vulnerabilities = runpy.run_path(str(AUDIT))["find_vulnerabilities"]

    assert find_vulnerabilities(json.dumps(report)) == (["a 1: CVE-1"], 2)

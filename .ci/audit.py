"""
Audit the installed packages: known vulnerabilities, licences, and a bill of materials.

Run with the interpreter of the virtual environment.  The status is 1 for a known vulnerability.
Where the database of vulnerabilities cannot be reached, this is said, and is no failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parent.parent / "build"
TIMEOUT_SECONDS = 300


def run_module(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the virtual environment."""
    return subprocess.run(  # noqa: S603 - its own programs
        [sys.executable, "-m", name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )


def find_vulnerabilities(report: str) -> tuple[list[str], int]:
    """Read the report of pip-audit: the vulnerabilities, and the number of audited packages."""
    packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    audited = [package for package in packages if "vulns" in package]
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        for package in audited
        for vulnerability in package["vulns"]
    ]
    return found, len(audited)


def audit_vulnerabilities() -> bool:
    """Print the known vulnerabilities, and return whether there are none."""
    try:
        done = run_module("pip_audit", "--format=json", "--progress-spinner=off")
        found, audited = find_vulnerabilities(done.stdout)
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        found, audited = [], 0
    if not audited:
        print("Vulnerabilities: NOT CHECKED: their database cannot be reached.")
        return True
    print(f"Vulnerabilities: {len(found)} in {audited} packages.", *found, sep="\n  ")
    return not found


def write_licenses() -> None:
    """Write the licence of each package, and print how many have each."""
    done = run_module("piplicenses", "--from=mixed", "--format=csv")
    (BUILD / "licenses.csv").write_text(done.stdout, encoding="utf-8")
    print(run_module("piplicenses", "--from=mixed", "--summary", "--order=count").stdout)


def write_bill_of_materials() -> None:
    """Write the bill of materials, in CycloneDX."""
    path = BUILD / "sbom.json"
    done = run_module("cyclonedx_py", "environment", "--output-file", str(path), sys.executable)
    print(f"{path.name}: written" if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    BUILD.mkdir(exist_ok=True)
    write_licenses()
    write_bill_of_materials()
    sys.exit(not audit_vulnerabilities())

"""
Clients that generators make of the OpenAPI document: generated, type-checked and called.

The generators have an environment of their own (``generated.txt``), as they need older packages
than the tests; it is made once and kept in pytest's cache.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import pytest
import requests

from ..builders import make_writer_token
from .rivers import FINDINGS

FOLDER = Path(__file__).parent
REQUIREMENTS = FOLDER / "generated.txt"

COMMANDS = {
    "openapi-generator": (
        *("openapi-generator-cli", "generate", "-g", "python", "-i", "openapi.json"),
        *("-o", "client", "--package-name", "portal_client"),
    ),
    "openapi-python-client": (
        *("openapi-python-client", "generate", "--path", "openapi.json"),
        *("--output-path", "client", "--config", "config.json", "--fail-on-warning"),
    ),
}
CONFIG = {"package_name_override": "portal_client", "post_hooks": []}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def programs(pytestconfig: pytest.Config) -> Path:
    """The folder with the programs of the generators, and a Python with the clients' packages."""
    needed = REQUIREMENTS.read_bytes() + sys.version.encode()
    name = f"generators-{blake2b(needed, digest_size=8).hexdigest()}"
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir(name)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # for another process of the tests
        if not (folder / "whole").exists():
            run([sys.executable, "-m", "venv", "--clear", folder / "venv"], folder)
            pip: list[str | Path] = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet"]
            run([*pip, "--requirement", REQUIREMENTS], folder)
            (folder / "whole").touch()
    return folder / "venv/bin"


def run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a program of the generators' environment, which must succeed, and return its output."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_CONSTRAINT", "PYTHON"))
    }
    environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={**environment, "PYTHONPATH": "client"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5_000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_generated_client_is_well_typed_and_works(
    name: str, portal: str, programs: Path, tmp_path: Path
) -> None:
    document = requests.get(f"{portal}/en/api/schema/?format=json", timeout=60)
    (tmp_path / "openapi.json").write_bytes(document.content)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    program, *arguments = COMMANDS[name]

    run([programs / program, *arguments], tmp_path)
    run([programs / "mypy", "--explicit-package-bases", "portal_client"], tmp_path / "client")
    script = FOLDER / "programs" / f"{name}.py"
    found = run([programs / "python", script, portal, make_writer_token()], tmp_path)

    assert json.loads(found) == FINDINGS

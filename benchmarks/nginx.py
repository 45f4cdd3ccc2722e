"""nginx in front of the portal, with the configuration of the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .failures import BenchmarkError
from .server import TIMEOUT_SECONDS, find_free_port, wait_for_server

#: The file that docs/how-to/deploy.md explains.
CONFIGURATION = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "nginx.conf"

#: The main configuration around it, as in a system's own ``nginx.conf``.
_MAIN = """
daemon off;
worker_processes auto;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/portal.conf;
}}
"""


@contextmanager
def serve_nginx(server: str, changes: Mapping[str, str] | None = None) -> Iterator[str]:
    """
    Run nginx before a server (host and port), on a free port of this machine; yield its address.

    ``changes`` are further replacements in the configuration.

    Raises: ``BenchmarkError`` when there is no nginx, or it does not start.
    """
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        raise BenchmarkError("nginx is not installed (Debian: nginx-light).")
    address = f"127.0.0.1:{find_free_port()}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "static").mkdir()
        (folder / "portal.conf").write_text(
            _write_configuration(server, address, folder, changes or {}), encoding="utf-8"
        )
        user = "user root;" if os.geteuid() == 0 else ""  # only this user can read the folder
        main = folder / "nginx.conf"
        main.write_text(_MAIN.format(folder=folder, user=user), encoding="utf-8")
        with (folder / "started.log").open("wb") as log:
            nginx = subprocess.Popen([program, "-p", name, "-c", main], stdout=log, stderr=log)
        try:
            wait_for_server(address, nginx)
            yield address
        finally:
            nginx.terminate()
            nginx.wait(TIMEOUT_SECONDS)


def _write_configuration(
    server: str, address: str, folder: Path, changes: Mapping[str, str]
) -> str:
    """Change the lines that the file marks with “change”."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    replacements = {
        "server 127.0.0.1:8000;": f"server {server};",
        "listen 80;": f"listen {address};",
        "/srv/portal/static/": f"{folder}/static/",
        **changes,
    }
    for old, new in replacements.items():
        if text.count(old) != 1:
            raise BenchmarkError(f"{CONFIGURATION} must have “{old}” once.")
        text = text.replace(old, new)
    return text

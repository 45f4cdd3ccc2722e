"""Varnish in front of the portal, with the configuration of the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..failures import BenchmarkError
from ..nginx import CONFIGURATION
from ..server import TIMEOUT_SECONDS, wait_for_server

#: The file that docs/how-to/put-a-cache-in-front.md explains.
VCL = CONFIGURATION.with_name("varnish.vcl")

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


@contextmanager
def serve_varnish(server: str, port: int) -> Iterator[Path]:
    """
    Run Varnish before a server (host and port), on a port of this machine; yield its folder.

    Raises: ``BenchmarkError`` when there is no Varnish, or it does not start.
    """
    program = shutil.which("varnishd", path=_PATH)
    if program is None:
        raise BenchmarkError("varnishd is not installed (Debian: varnish).")
    with tempfile.TemporaryDirectory(prefix="varnish_") as name:
        folder = Path(name)
        text = VCL.read_text(encoding="utf-8")
        (folder / "portal.vcl").write_text(
            text.replace('"8000"', f'"{server.rpartition(":")[2]}"'), encoding="utf-8"
        )
        command = [
            program, "-F", "-j", "none", "-n", str(folder / "work"), "-f",
            str(folder / "portal.vcl"), "-a", f"127.0.0.1:{port}", "-s", "malloc,256m",
        ]  # fmt: skip
        with (folder / "started.log").open("wb") as log:
            varnish = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for_server(f"127.0.0.1:{port}", varnish)
            yield folder / "work"
        finally:
            varnish.terminate()
            varnish.wait(TIMEOUT_SECONDS)


def read_counters(folder: Path, *names: str) -> list[int]:
    """Read counters of a running Varnish, such as ``cache_hit``."""
    listed = [argument for name in names for argument in ("-f", f"MAIN.{name}")]
    program = shutil.which("varnishstat", path=_PATH) or "varnishstat"
    done = subprocess.run(
        [program, "-n", str(folder), "-1", *listed], capture_output=True, text=True, check=True
    )
    counts = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines() if line}
    return [counts[f"MAIN.{name}"] for name in names]

"""Load generator: ``wrk``."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..calls import Call, send_call
from ..failures import BenchmarkError
from ..timing import Timing

#: The durations of ``wrk`` are whole seconds.
MIN_SECONDS = 1

_SCRIPT = Path(__file__).with_name("calls.lua")


def is_installed() -> bool:
    """Return whether ``wrk`` is installed."""
    return shutil.which("wrk") is not None


def drive(calls: Sequence[Call], *, connections: int, seconds: float) -> Timing:
    """
    Send calls in turn for some seconds.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    with tempfile.NamedTemporaryFile() as file:
        for call in calls:
            message = _build_message(call)
            file.write(b"%d\n%b" % (len(message), message))
        file.flush()
        process = subprocess.run(
            [
                *("wrk", "--threads", "1", "--connections", str(connections)),
                *("--duration", str(round(seconds)), "--timeout", "600", "--script", str(_SCRIPT)),
                *(f"http://{calls[0].server}/", file.name),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode or not process.stdout:
        raise BenchmarkError(f"wrk failed: {process.stderr or process.stdout}")
    figures = json.loads(process.stdout.splitlines()[-1])
    failed, hung_up = figures.pop("failed"), figures.pop("hung_up")
    if calls[0].lasting:
        failed += hung_up
    if failed or not figures["count"]:
        for call in calls:
            send_call(call)  # raises the reason if it fails again
        raise BenchmarkError(f"{failed} answers to {calls[0].path} failed.")
    return Timing(**figures)


def _build_message(call: Call) -> bytes:
    headers = {"Host": call.server, **call.headers}
    if call.body:
        headers["Content-Length"] = str(len(call.body))
    lines = [f"{call.method} {call.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + call.body

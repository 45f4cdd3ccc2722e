"""Draw as PNG, by resvg-py (the extra ``png``) in a process, and the server's fonts."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import subprocess
from datetime import timedelta
from functools import cache
from tempfile import TemporaryFile
from time import monotonic

from django.utils.translation import gettext_lazy as _

from ....guards.child_processes import start_child
from ....guards.shares import Client, Shares
from ....messages.availability import ClientDisconnected, TemporarilyUnavailable
from .png_process import render

logger = logging.getLogger(__name__)

#: Larger drawings are not offered, such as a map with many lines.
MAX_SVG_LENGTH = 1_000_000

#: The first font. Letters that it lacks are taken from other fonts of the server.
_FONT = "DejaVu Sans"

#: Four bytes each. A small drawing has two pixels for each of its units.
_MAX_PIXELS = 8_000_000
_MAX_ZOOM = 2.0

_BOX = re.compile(r'viewBox="0 0 ([0-9]+) ([0-9]+)"')
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><text y="15">{}</text></svg>'

#: Of waiting for a process, and of drawing, which takes a second: a machine may be very busy.
_TIMEOUT = timedelta(seconds=30)
_CHECK_SECONDS = 0.1

#: One process draws at a time, and one more for a client that has drawn little.
drawing_shares = Shares(max_slots=1)


class DrawingFailed(TemporarilyUnavailable):
    """The process has ended, or takes too long or too much memory."""

    wait = 60
    message = _("The PNG takes too long to draw. Download the SVG, or ask for fewer records.")


def can_draw_png(svg: str) -> bool:
    """Return whether an SVG can be drawn as PNG, with its texts."""
    return len(svg) <= MAX_SVG_LENGTH and _has_texts(_FONT)


def draw_png(svg: str, client: Client | None = None) -> bytes:
    """
    Draw an SVG of the app as PNG, on white, by a process; a client draws one at a time.

    Raises: ``DrawingFailed``; ``ShareExceeded``; ``ServerFull``; ``ClientDisconnected``.
    """
    found = _BOX.search(svg)
    width, height = map(int, found.groups()) if found else (1, 1)
    zoom = min(_MAX_ZOOM, math.sqrt(_MAX_PIXELS / (width * height)))
    with drawing_shares.hold(client, _TIMEOUT), TemporaryFile() as request:
        request.write(json.dumps([os.getpid(), svg, _FONT, zoom]).encode())
        request.seek(0)
        with start_child(render.__module__, subprocess.PIPE, request) as child:
            deadline = monotonic() + _TIMEOUT.total_seconds()
            while child.returncode is None:
                try:
                    drawn, log = child.communicate(timeout=_CHECK_SECONDS)
                except subprocess.TimeoutExpired as error:
                    if client is not None and client.is_gone():
                        raise ClientDisconnected from error
                    if monotonic() > deadline:
                        raise DrawingFailed from error
    if child.returncode:
        logger.error("The process that draws ended with %s. %s", child.returncode, log.decode())
        raise DrawingFailed
    return drawn


@cache
def _has_texts(font: str) -> bool:
    """Return whether texts are drawn: without any font, only lines and bars are."""
    try:
        return render(_PROBE.format("A"), font, 1) != render(_PROBE.format(""), font, 1)
    except ImportError:
        return False

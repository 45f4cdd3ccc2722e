"""
The process that draws a PNG: ``python -m`` with the name of this module.

resvg-py holds Python's lock while it draws, so a process that answers requests does not draw.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from importlib import import_module

from ....guards.child_processes import end_with_parent, set_limit, take_over_output

#: A drawing of the most pixels takes half a second, and 80 MB.
_MAX_CPU_SECONDS = 10
_MAX_MEMORY_BYTES = 512 * 2**20

#: Requests go first.
_NICENESS = 5


def render(svg: str, font: str, zoom: float) -> bytes:
    """Draw an SVG on white, with the fonts of the server; nothing is fetched."""
    draw: Callable[..., bytes] = import_module("resvg_py").svg_to_bytes
    return bytes(
        draw(
            svg_string=svg, background="white", zoom=zoom, font_family=font, sans_serif_family=font
        )
    )


def main() -> None:
    """Draw what the standard input has: the parent, and what ``render`` takes."""
    output = take_over_output()
    parent, *drawing = json.load(sys.stdin.buffer)
    end_with_parent(parent)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_CPU, _MAX_CPU_SECONDS)
    set_limit(resource.RLIMIT_DATA, _MAX_MEMORY_BYTES)
    os.nice(_NICENESS)
    with output:
        output.write(render(*drawing))


if __name__ == "__main__":
    main()

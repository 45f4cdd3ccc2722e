"""The progress of a load on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from tqdm import tqdm

from ..loading.jobs import Progress


@contextmanager
def show_progress_bar(stream: Any, name: str, *, silent: bool) -> Iterator[Progress]:
    """Yield a function that draws a progress bar from the first progress on."""
    with ExitStack() as stack:
        bars: list[tqdm[NoReturn]] = []

        def update_bar(done: int, total: int) -> None:
            if not bars:
                bar = tqdm(
                    total=total, unit=" records", unit_scale=True, file=stream,
                    disable=silent or not stream.isatty(), desc=name[-60:],
                )  # fmt: skip
                bars.append(stack.enter_context(bar))
            bars[0].update(done - bars[0].n)

        yield update_bar

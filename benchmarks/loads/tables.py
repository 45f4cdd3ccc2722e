"""The tables of loads; times are in seconds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.report import Table, number, ratio

from .files import LEFT, LoadFigures, ManyFigures

_MEBIBYTE = 2**20
_STATES = ("reading", "copying", "indexing")


def loads(caption: str, figures: Sequence[LoadFigures]) -> Table:
    """Show the times of loads, beside COPY and CKAN."""
    header = (
        *("records", "load", "records per s", *_STATES, "MiB at first", "MiB at most"),
        *("COPY, typed", "records per s", "COPY, jsonb", "load ÷ COPY"),
        *("CKAN", "records per s", "CKAN ÷ load"),
    )
    return Table(caption, header, [_row(each) for each in figures])


def _row(figures: LoadFigures) -> tuple[str, ...]:
    rows = figures.rows
    load, typed = statistics.median(figures.portal), statistics.median(figures.typed)
    ckan = statistics.median(figures.ckan) if figures.ckan else None
    return (
        f"{rows:,}",
        number(load),
        number(rows / load),
        *(number(figures.state(name)) for name in _STATES),
        number(figures.base_bytes / _MEBIBYTE),
        number(figures.peak_bytes / _MEBIBYTE),
        number(typed),
        number(rows / typed),
        number(statistics.median(figures.json)),
        ratio(load, typed),
        number(ckan),
        number(rows / ckan if ckan else None),
        ratio(ckan, load),
    )


def many(caption: str, figures: Sequence[ManyFigures]) -> Table:
    """Show the times of small files, and what they left behind."""
    header = ("files", "s", "files per s", "MiB at most", *(f"{name} left" for name in LEFT))
    return Table(caption, header, [_many(each) for each in figures])


def _many(figures: ManyFigures) -> tuple[str, ...]:
    return (
        f"{figures.files:,}",
        number(figures.seconds),
        number(figures.files / figures.seconds),
        number(figures.peak_bytes / _MEBIBYTE),
        *(str(figures.left[name]) for name in LEFT),
    )

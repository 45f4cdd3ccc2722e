"""The tables of loads; times are in seconds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.report import Table, format_number, format_ratio

from .files import LEFTOVER_KINDS, LoadFigures, SmallFilesFigures

_MEBIBYTE = 2**20
_STATES = ("reading", "copying", "indexing")


def build_loads_table(caption: str, figures: Sequence[LoadFigures]) -> Table:
    """Show the times of loads, beside COPY and CKAN."""
    header = (
        *("records", "load", "records per s", *_STATES, "MiB at first", "MiB at most"),
        *("COPY, typed", "records per s", "COPY, jsonb", "load ÷ COPY"),
        *("CKAN", "records per s", "CKAN ÷ load"),
    )
    return Table(caption, header, [_format_load(measured) for measured in figures])


def _format_load(figures: LoadFigures) -> tuple[str, ...]:
    rows = figures.rows
    load, typed = statistics.median(figures.portal), statistics.median(figures.typed)
    ckan = statistics.median(figures.ckan) if figures.ckan else None
    return (
        f"{rows:,}",
        format_number(load),
        format_number(rows / load),
        *(format_number(figures.compute_median_seconds(name)) for name in _STATES),
        format_number(figures.base_bytes / _MEBIBYTE),
        format_number(figures.peak_bytes / _MEBIBYTE),
        format_number(typed),
        format_number(rows / typed),
        format_number(statistics.median(figures.json)),
        format_ratio(load, typed),
        format_number(ckan),
        format_number(rows / ckan if ckan else None),
        format_ratio(ckan, load),
    )


def build_small_files_table(caption: str, figures: Sequence[SmallFilesFigures]) -> Table:
    """Show the times of small files, and what they left behind."""
    header = (
        "files",
        "s",
        "files per s",
        "MiB at most",
        *(f"{name} left" for name in LEFTOVER_KINDS),
    )
    return Table(caption, header, [_format_small_files(measured) for measured in figures])


def _format_small_files(figures: SmallFilesFigures) -> tuple[str, ...]:
    return (
        f"{figures.files:,}",
        format_number(figures.seconds),
        format_number(figures.files / figures.seconds),
        format_number(figures.peak_bytes / _MEBIBYTE),
        *(str(figures.left[name]) for name in LEFTOVER_KINDS),
    )

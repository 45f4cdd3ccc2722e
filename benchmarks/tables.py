"""A table of each measured part; times are in milliseconds unless the header has a unit."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from .comparison import Figures
from .cursors import SHARES
from .loads.files import LoadFigures
from .report import Table, format_number, format_ratio
from .resources import Cost
from .timing import PARALLEL_CONNECTIONS, Served, Timing

_MEBIBYTE = 2**20
_KIBIBYTE = 2**10
_SERVED = (
    "median",
    "p95",
    f"median of {PARALLEL_CONNECTIONS}",
    f"of {PARALLEL_CONNECTIONS}, per s",
)
_CKAN = ("CKAN", "CKAN ÷ portal", f"CKAN of {PARALLEL_CONNECTIONS}, per s", "portal ÷ CKAN")
_MISSING = "–"
#: States of a load.
_STATES = ("reading", "copying", "indexing")


def build_load_table(caption: str, costs: Sequence[Cost]) -> Table:
    """Show the times of loads."""
    header = ("records", "s", "records per s", "table MiB", "indexes MiB", "bytes per record")
    return Table(caption, header, [_format_load(cost) for cost in costs])


def _format_load(cost: Cost) -> tuple[str, ...]:
    return (
        f"{cost.rows:,}",
        format_number(cost.seconds),
        format_number(cost.rows / cost.seconds),
        format_number(cost.table_bytes / _MEBIBYTE),
        format_number(cost.indexes_bytes / _MEBIBYTE),
        format_number((cost.table_bytes + cost.indexes_bytes) / cost.rows),
    )


def build_requests_table(caption: str, figures: Mapping[str, Figures | None]) -> Table:
    """Show the times of each request, and CKAN's if it was measured."""
    has_ckan = any(measured and measured.ckan for measured in figures.values())
    header = (
        *("request", "KiB", *_SERVED, "floor", "÷ floor", "own time"),
        *(_CKAN if has_ckan else ()),
    )
    missing = [_MISSING] * (len(header) - 1)
    rows = [
        (name, *(_format_request(measured, has_ckan=has_ckan) if measured else missing))
        for name, measured in figures.items()
    ]
    return Table(caption, header, rows)


def _format_request(figures: Figures, *, has_ckan: bool) -> tuple[str, ...]:
    median = figures.portal.alone.median_ms
    floor = figures.floor.median_ms if figures.floor else None
    return (
        format_number(figures.answer_bytes / _KIBIBYTE),
        *_format_served(figures.portal),
        format_number(floor),
        format_ratio(median, floor),
        format_number(None if floor is None else median - floor),
        *(_format_ckan(figures) if has_ckan else ()),
    )


def _format_ckan(figures: Figures) -> tuple[str, ...]:
    portal, ckan = figures.portal, figures.ckan
    if ckan is None:
        return (_MISSING,) * len(_CKAN)
    portal_per_second = _get_requests_per_second(portal)
    ckan_per_second = _get_requests_per_second(ckan)
    return (
        format_number(ckan.alone.median_ms),
        format_ratio(ckan.alone.median_ms, portal.alone.median_ms),
        format_number(ckan_per_second),
        format_ratio(portal_per_second, ckan_per_second),
    )


def _get_requests_per_second(served: Served) -> float | None:
    return served.together.per_second if served.together else None


def _format_served(served: Served) -> tuple[str, ...]:
    return (
        format_number(served.alone.median_ms),
        format_number(served.alone.p95_ms),
        format_number(served.together.median_ms if served.together else None),
        format_number(_get_requests_per_second(served)),
    )


def build_cursors_table(caption: str, pages: Mapping[str, Sequence[Timing]]) -> Table:
    """Show the medians of pages after some share of the records, and their ratios to the first."""
    later = [f"after {share} %" for share in SHARES[1:]]
    header = ("request", "first page", *later, *(f"{share} ÷ first" for share in later))
    return Table(caption, header, [(name, *_format_pages(each)) for name, each in pages.items()])


def _format_pages(pages: Sequence[Timing]) -> list[str]:
    medians = [page.median_ms for page in pages]
    ratios = [format_ratio(median, medians[0]) for median in medians[1:]]
    return [*map(format_number, medians), *ratios]


def build_loads_table(caption: str, figures: Sequence[LoadFigures]) -> Table:
    """Show the seconds of loads, beside COPY."""
    header = (
        *("records", "s", "records per s", *_STATES, "MiB at first", "MiB at most"),
        *("COPY, s", "load ÷ COPY"),
    )
    return Table(caption, header, [_format_loads(measured) for measured in figures])


def _format_loads(figures: LoadFigures) -> tuple[str, ...]:
    load, copy = statistics.median(figures.portal), statistics.median(figures.copy)
    return (
        f"{figures.rows:,}",
        format_number(load),
        format_number(figures.rows / load),
        *(format_number(figures.compute_median_seconds(name)) for name in _STATES),
        format_number(figures.base_bytes / _MEBIBYTE),
        format_number(figures.peak_bytes / _MEBIBYTE),
        format_number(copy),
        format_ratio(load, copy),
    )

"""A table of each measured part; times are in milliseconds unless the header has a unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .breakdown import Shares
from .comparison import Figures
from .report import Table, format_number, format_ratio
from .resources import Cost
from .spread import Spread
from .timed_calls import PARALLEL_CONNECTIONS, Served
from .timing import Timing

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
    """Show the times of each request, and those of CKAN if it was measured."""
    has_ckan = any(measured and measured.ckan for measured in figures.values())
    header = (
        *("request", "KiB", *_SERVED, "PostgreSQL", "floor", "÷ floor", "own time"),
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
        format_number(figures.postgresql_ms),
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


def build_growth_table(
    caption: str, sizes: Sequence[int], timings: Mapping[str, Sequence[Timing] | None]
) -> Table:
    """Show the median of each request by the size of the resource."""
    header = ("request", *(f"{rows:,}" for rows in sizes), "largest ÷ smallest")
    rows = [
        (name, *(_format_growth(series) if series else [_MISSING] * (len(header) - 1)))
        for name, series in timings.items()
    ]
    return Table(caption, header, rows)


def _format_growth(timings: Sequence[Timing]) -> tuple[str, ...]:
    medians = [timing.median_ms for timing in timings]
    return (*map(format_number, medians), format_ratio(medians[-1], medians[0]))


def build_resources_table(caption: str, spreads: Mapping[str, Spread]) -> Table:
    """Show the times of requests spread over many resources."""
    header = ("request", "to", *_SERVED, "all ÷ one")
    rows = []
    for name, spread in spreads.items():
        rows.append((name, "one", *_format_served(spread.one), ""))
        slower = format_ratio(spread.all.alone.median_ms, spread.one.alone.median_ms)
        rows.append((name, "all", *_format_served(spread.all), slower))
    return Table(caption, header, rows)


def build_breakdown_table(caption: str, parts: Mapping[str, Shares]) -> Table:
    """Show where the time of requests goes."""
    header = (
        *("request", "median", "HTTP server, socket", "Django, REST framework"),
        *("token, permissions", "psycopg, PostgreSQL", "own code", "statements"),
    )
    rows = [
        (
            name,
            format_number(shares.total_ms),
            format_number(shares.server_ms),
            format_number(shares.framework_ms),
            format_number(shares.access_ms),
            format_number(shares.database_ms),
            format_number(shares.own_ms),
            str(shares.statements),
        )
        for name, shares in parts.items()
    ]
    return Table(caption, header, rows)

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


def load(caption: str, costs: Sequence[Cost]) -> Table:
    """Show the times of loads."""
    header = ("records", "s", "records per s", "table MiB", "indexes MiB", "bytes per record")
    return Table(caption, header, [_load(cost) for cost in costs])


def _load(cost: Cost) -> tuple[str, ...]:
    return (
        f"{cost.rows:,}",
        format_number(cost.seconds),
        format_number(cost.rows / cost.seconds),
        format_number(cost.table_bytes / _MEBIBYTE),
        format_number(cost.indexes_bytes / _MEBIBYTE),
        format_number((cost.table_bytes + cost.indexes_bytes) / cost.rows),
    )


def requests(caption: str, figures: Mapping[str, Figures | None]) -> Table:
    """Show the times of each request, and those of CKAN if it was measured."""
    has_ckan = any(taken and taken.ckan for taken in figures.values())
    header = (
        *("request", "KiB", *_SERVED, "PostgreSQL", "floor", "÷ floor", "own time"),
        *(_CKAN if has_ckan else ()),
    )
    rows = [
        (name, *(_request(taken, has_ckan=has_ckan) if taken else [_MISSING] * (len(header) - 1)))
        for name, taken in figures.items()
    ]
    return Table(caption, header, rows)


def _request(taken: Figures, *, has_ckan: bool) -> tuple[str, ...]:
    median = taken.portal.alone.median_ms
    floor = taken.floor.median_ms if taken.floor else None
    return (
        format_number(taken.answer_bytes / _KIBIBYTE),
        *_served(taken.portal),
        format_number(taken.postgresql_ms),
        format_number(floor),
        format_ratio(median, floor),
        format_number(None if floor is None else median - floor),
        *(_ckan(taken) if has_ckan else ()),
    )


def _ckan(taken: Figures) -> tuple[str, ...]:
    portal, ckan = taken.portal, taken.ckan
    if ckan is None:
        return (_MISSING,) * len(_CKAN)
    ours, theirs = _per_second(portal), _per_second(ckan)
    return (
        format_number(ckan.alone.median_ms),
        format_ratio(ckan.alone.median_ms, portal.alone.median_ms),
        format_number(theirs),
        format_ratio(ours, theirs),
    )


def _per_second(served: Served) -> float | None:
    return served.together.per_second if served.together else None


def _served(served: Served) -> tuple[str, ...]:
    return (
        format_number(served.alone.median_ms),
        format_number(served.alone.p95_ms),
        format_number(served.together.median_ms if served.together else None),
        format_number(_per_second(served)),
    )


def growth(
    caption: str, sizes: Sequence[int], timings: Mapping[str, Sequence[Timing] | None]
) -> Table:
    """Show the median of each request by the size of the resource."""
    header = ("request", *(f"{rows:,}" for rows in sizes), "largest ÷ smallest")
    rows = [
        (name, *(_growth(taken) if taken else [_MISSING] * (len(header) - 1)))
        for name, taken in timings.items()
    ]
    return Table(caption, header, rows)


def _growth(timings: Sequence[Timing]) -> tuple[str, ...]:
    medians = [timing.median_ms for timing in timings]
    return (*map(format_number, medians), format_ratio(medians[-1], medians[0]))


def resources(caption: str, spreads: Mapping[str, Spread]) -> Table:
    """Show the times of requests spread over many resources."""
    header = ("request", "to", *_SERVED, "all ÷ one")
    rows = []
    for name, taken in spreads.items():
        rows.append((name, "one", *_served(taken.one), ""))
        slower = format_ratio(taken.all.alone.median_ms, taken.one.alone.median_ms)
        rows.append((name, "all", *_served(taken.all), slower))
    return Table(caption, header, rows)


def breakdown(caption: str, parts: Mapping[str, Shares]) -> Table:
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

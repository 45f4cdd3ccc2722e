"""The bins of a histogram: twenty at most, with bounds that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

BINS_MOST = 20

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
#: Widths of bins in seconds, up to a week, which begins on Monday.
_SECONDS = (
    *(1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY),
)
#: Widths in months.
_MONTHS = (1, 3, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def compute_number_bounds(low: float, high: float, *, whole: bool) -> list[Decimal]:
    """Give the bounds of bins from ``low`` to ``high``: multiples of 1, 2, 5, 10, 20 and so on."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    for step in _steps(last - first, whole=whole):
        start = first // step * step
        if start > first:  # the division of negative decimals goes towards zero
            start -= step
        bins = int((last - start) / step) + 1
        if bins <= BINS_MOST:
            return [start + step * number for number in range(bins + 1)]
    return []


def _steps(span: Decimal, *, whole: bool) -> Iterator[Decimal]:
    """Give steps, each wider than the one before."""
    lowest = span.adjusted() - 2
    for exponent in count(max(0, lowest) if whole else lowest):
        for figure in (1, 2, 5):
            yield Decimal(figure).scaleb(exponent)


def compute_date_bounds(low: datetime, high: datetime, *, whole_days: bool) -> list[datetime]:
    """
    Give the bounds of bins from ``low`` to ``high``, as the calendar and the clock have them.

    Of bins that would go beyond the last day there is, the last bound is that day.
    """
    for seconds in _SECONDS:
        if seconds >= _DAY or not whole_days:
            bounds = _even(low, high, timedelta(seconds=seconds))
            if bounds:
                return bounds
    for months in _MONTHS:
        bounds = _of_months(low, high, months)
        if bounds:
            return bounds
    return []


def _even(low: datetime, high: datetime, step: timedelta) -> list[datetime]:
    since = _FIRST_MONDAY if step == timedelta(weeks=1) else _EPOCH
    start = since + (low - since) // step * step
    bins = (high - start) // step + 1
    return (
        [_no_later(start, step * number) for number in range(bins + 1)] if bins <= BINS_MOST else []
    )


def _no_later(start: datetime, more: timedelta) -> datetime:
    return start + more if more <= _LAST - start else _LAST


def _of_months(low: datetime, high: datetime, step: int) -> list[datetime]:
    first, last = (moment.year * 12 + moment.month - 1 for moment in (low, high))
    start = first // step * step
    bins = (last - start) // step + 1
    if bins > BINS_MOST:
        return []
    return [_month(start + step * number) for number in range(bins + 1)]


def _month(number: int) -> datetime:
    """Give the first moment of a month, counted from year 0, which there is not."""
    year, month = divmod(number, 12)
    if not year:
        return _FIRST
    if year > _LAST.year:
        return _LAST
    return datetime(year, month + 1, 1, tzinfo=UTC)

"""Compute the bounds of a histogram's bins: at most twenty, with bounds that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

MAX_BINS = 20

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
#: Widths of bins in seconds, up to a week, which begins on Monday.
_WIDTHS_SECONDS = (
    *(1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY),
)
_WIDTHS_MONTHS = (1, 3, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def compute_number_bounds(low: float, high: float, *, whole: bool) -> list[Decimal]:
    """Compute bounds from ``low`` to ``high``: multiples of 1, 2, 5, 10, 20 and so on."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    for width in _iterate_widths(last - first, whole=whole):
        start = first // width * width
        if start > first:  # the division of negative decimals goes towards zero
            start -= width
        bins = int((last - start) / width) + 1
        if bins <= MAX_BINS:
            return [start + width * number for number in range(bins + 1)]
    return []


def _iterate_widths(span: Decimal, *, whole: bool) -> Iterator[Decimal]:
    """Iterate over widths of bins, each wider than the one before."""
    lowest = span.adjusted() - 2
    for exponent in count(max(0, lowest) if whole else lowest):
        for digit in (1, 2, 5):
            yield Decimal(digit).scaleb(exponent)


def compute_date_bounds(low: datetime, high: datetime, *, whole_days: bool) -> list[datetime]:
    """
    Compute bounds from ``low`` to ``high`` that are round in the calendar and on the clock.

    The last bound is at most the last moment that a ``datetime`` can hold.
    """
    for seconds in _WIDTHS_SECONDS:
        may_be_narrow = seconds >= _DAY or not whole_days
        width = timedelta(seconds=seconds)
        if may_be_narrow and (bounds := _compute_even_bounds(low, high, width)):
            return bounds
    for months in _WIDTHS_MONTHS:
        if bounds := _compute_month_bounds(low, high, months):
            return bounds
    return []


def _compute_even_bounds(low: datetime, high: datetime, width: timedelta) -> list[datetime]:
    """Compute bounds at the same distance; none if there would be too many."""
    since = _FIRST_MONDAY if width == timedelta(weeks=1) else _EPOCH
    start = since + (low - since) // width * width
    bins = (high - start) // width + 1
    if bins > MAX_BINS:
        return []
    offsets = (width * number for number in range(bins + 1))
    return [start + offset if offset <= _LAST - start else _LAST for offset in offsets]


def _compute_month_bounds(low: datetime, high: datetime, width: int) -> list[datetime]:
    """Compute bounds at beginnings of months, ``width`` months apart; none if too many."""
    first, last = (moment.year * 12 + moment.month - 1 for moment in (low, high))
    start = first // width * width
    bins = (last - start) // width + 1
    if bins > MAX_BINS:
        return []
    return [_find_month_start(start + width * number) for number in range(bins + 1)]


def _find_month_start(number: int) -> datetime:
    """Find the first moment of a month, counted from year 0, which a ``datetime`` cannot hold."""
    year, month = divmod(number, 12)
    if not year:
        return _FIRST
    if year > _LAST.year:
        return _LAST
    return datetime(year, month + 1, 1, tzinfo=UTC)

"""The steps of groups of an aggregate: all periods or ranges from the first to the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from typing import Any

from .errors import TooManyChartGroups
from .groups import GroupBy

#: The value of a group; it can be compared and hashed.
Key = str | bool | None

#: The beginning or the end of a step: a moment or a number.
Bound = Any

_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def list_steps(group: GroupBy, keys: Iterable[Key], most: int) -> dict[Key, tuple[Bound, Bound]]:
    """
    List the keys and the bounds of all steps, also of those between the groups without records.

    The last range of a number of bins has no known end.  What is no moment or number has no step.

    Raises: ``TooManyChartGroups`` for more than ``most`` steps.
    """
    parse: Callable[[Key], Bound] = _parse_moment if group.interval else _parse_number
    lows = {low: key for key in keys if (low := parse(key)) is not None}
    if not lows:
        return {}
    if group.bins:
        ends = sorted(lows)
        return {lows[low]: (low, high) for low, high in zip_longest(ends, ends[1:])}
    low, last = min(lows), max(lows)
    first, steps = str(lows[low]), dict[Key, tuple[Bound, Bound]]()
    for _number in range(most):
        high = _find_next_period(low, group.interval) if group.interval else low + group.width
        # As PostgreSQL writes the others.
        key = low.isoformat()[: len(first[:19])] + first[19:] if group.interval else str(low)
        steps[lows.get(low, key)] = low, high
        low = high
        if low > last:
            return steps
    raise TooManyChartGroups


def _parse_moment(key: object) -> datetime | None:
    """Parse the beginning of a period; None for a date that does not exist."""
    try:
        return datetime.fromisoformat(str(key)[:19])
    except ValueError:
        return None


def _parse_number(key: object) -> Decimal | None:
    try:
        number = Decimal(str(key))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _find_next_period(moment: datetime, interval: str) -> datetime:
    """Find the beginning of the next period; after the last one is the end of the calendar."""
    try:
        if interval not in _MONTHS:
            return moment + timedelta(**{f"{interval}s": 1})
        months = moment.year * 12 + moment.month - 1 + _MONTHS[interval]
        return moment.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        return moment.max

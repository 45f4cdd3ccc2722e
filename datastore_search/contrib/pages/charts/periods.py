"""
The steps of an axis: periods, ranges of numbers, and texts that sort like time, in their order.

Steps between the groups, of which there are no records, are among them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from typing import Any

from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import GroupBy

#: The value of a group; it can be compared and hashed.
Key = str | bool | None

#: The beginning or the end of a step: a moment or a number.
Bound = Any

_MONTHS = {"decade": 120, "year": 12, "quarter": 3, "month": 1}


def list_steps(group: GroupBy, keys: Iterable[Key], most: int) -> dict[Key, tuple[Bound, Bound]]:
    """
    List the keys and the bounds of all steps, also of those between the groups without records.

    The last range of a number of bins has no known end.  What is no moment or number has no step.

    Raises: ``TooManyChartGroups`` for more than ``most`` steps.
    """
    lows: dict[Bound, Key] = {}
    for key in keys:
        with suppress(ValueError, InvalidOperation):
            text = str(key)
            bound: Bound = datetime.fromisoformat(text[:19]) if group.interval else Decimal(text)
            if group.interval or bound.is_finite():
                lows[bound] = key
    if not lows:
        return {}
    if group.bins:
        ends = sorted(lows)
        return {lows[low]: (low, high) for low, high in zip_longest(ends, ends[1:])}
    low, last = min(lows), max(lows)
    first, steps = str(lows[low]), dict[Key, tuple[Bound, Bound]]()
    for _number in range(most):
        if not group.interval:
            high = low + group.width
        else:
            high = low.max  # after the last period is the end of the calendar
            with suppress(ValueError, OverflowError):
                if group.interval in _MONTHS:
                    length, months = _MONTHS[group.interval], low.year * 12 + low.month - 1
                    months += length - months % length  # the first decade begins in its year 1
                    high = low.replace(year=months // 12, month=months % 12 + 1)
                else:
                    high = low + timedelta(**{f"{group.interval}s": 1})
        # As PostgreSQL writes the others.
        key = low.isoformat()[: len(first[:19])] + first[19:] if group.interval else str(low)
        steps[lows.get(low, key)] = low, high
        low = high
        if low > last:
            return steps
    raise TooManyChartGroups


# Periods that the data do not fill ----------------------------------------------------------------

#: Periods beside the first and the last one whose records say how far these reach to an edge.
_NEIGHBOURS = 5

#: How much further a record must be from the edge than in each of them, and of the period at least.
_USUAL_GAPS, _LEAST_SHARE = 1.5, 0.04

_DAY = timedelta(days=1)

#: The bounds of a period, and the earliest and the latest value in it.
FilledPeriod = tuple[datetime, datetime, datetime, datetime]


def find_incomplete(periods: Sequence[FilledPeriod]) -> tuple[datetime | None, datetime | None]:
    """
    Find where data begin within the first period, and where they end within the last one.

    A period is complete if its data come as near to its edge as those of the periods beside it:
    of monthly data, a year ends with its December.  A value at midnight is of the whole day.
    """
    if not periods:
        return None, None
    (low, _high, first, _late), (*_bounds, last) = periods[0], periods[-1]
    heads = [earliest - start for start, _end, earliest, _latest in periods[: _NEIGHBOURS + 1]]
    tails = [
        max(end - latest - _DAY * (latest.time() == low.min.time()), timedelta())
        for _start, end, _earliest, latest in periods[: -_NEIGHBOURS - 2 : -1]
    ]
    is_stamp = first.day == last.day == 1 and first.time() == last.time() == low.min.time()
    if len(periods) == 1 and is_stamp:  # of months, or of one value, of which nothing is known
        is_year_end = first == last or last.month == low.max.month
        tails[0] = timedelta() if is_year_end else tails[0]
        heads[0] = timedelta() if first == last else heads[0]
    ends = []
    for gaps, edge, period in ((heads, first, periods[0]), (tails, last, periods[-1])):
        usual = max(gaps[1:], default=timedelta()) * _USUAL_GAPS
        least = (period[1] - period[0]) * _LEAST_SHARE
        ends.append(edge if gaps[0] > max(usual, least) else None)
    return ends[0], ends[1]


# Texts that sort like time ------------------------------------------------------------------------

#: How periods are written: a year, what follows it, and the period within the year.
_TEXTS: Mapping[str, re.Pattern[str]] = {
    "year": re.compile(r"((?:1[6-9]|2[01])[0-9]{2})()()"),
    "financial year": re.compile(r"([12][0-9]{3})([-/–])([0-9]{2}|[0-9]{4})"),
    "half": re.compile(r"([12][0-9]{3})([ /-]?[HS])([12])"),
    "quarter": re.compile(r"([12][0-9]{3})([ /-]?[QT])([1-4])"),
    "month": re.compile(r"([12][0-9]{3})([-/.])(0[1-9]|1[0-2])"),
    "week": re.compile(r"([12][0-9]{3})(-?W)([0-5][0-9])"),
    "day": re.compile(r"([12][0-9]{3})([-/.])([0-9]{2}\2[0-9]{2})"),
}
_PARTS, _DAYS = {"half": 2, "quarter": 4, "month": 12}, {"week": 7, "day": 1}


@dataclass(frozen=True, slots=True)
class TextPeriods:
    """
    How texts that sort like time are written: ``2024-Q1``, ``2023/24``, ``2024-03``.

    ``width`` is the number of letters of the last part.  Periods are numbered without gaps.
    """

    unit: str
    separator: str
    width: int

    @classmethod
    def find(cls, keys: Collection[Key]) -> TextPeriods | None:
        """Find how all texts but empty ones are written; None if not all of them in one way."""
        texts = [str(key) for key in keys if key]
        for unit, pattern in _TEXTS.items() if texts else ():
            if found := pattern.fullmatch(texts[0]):
                periods = cls(unit, found[2], len(found[3]))
                if None not in map(periods.parse, texts):
                    return periods
        return None

    def parse(self, text: str) -> int | None:
        """Return the number of a period; None if it is not written in this way."""
        if not (found := _TEXTS[self.unit].fullmatch(text)):
            return None
        year, part = int(found[1]), found[3]
        with suppress(ValueError, OverflowError):
            if self.unit == "week":
                number = (date.fromisocalendar(year, int(part), 1).toordinal() - 1) // 7
            elif self.unit == "day":
                number = date.fromisoformat(text.replace(found[2], "-")).toordinal() - 1
            else:
                parts = _PARTS.get(self.unit, 1)
                number = year * parts + (int(part) - 1 if parts > 1 else 0)
            return number if self.write(number) == text else None
        return None

    def write(self, number: int) -> str:
        if self.unit == "day":
            return self.begin(number).date().isoformat().replace("-", self.separator)
        if self.unit == "week":
            year, week, _day = self.begin(number).isocalendar()
            return f"{year:04}{self.separator}{week:02}"
        year, part = divmod(number, _PARTS.get(self.unit, 1))
        text = f"{part + 1:0{self.width}}" if self.unit in _PARTS else ""
        if self.unit == "financial year":
            text = f"{year + 1:04}"[-self.width :]
        return f"{year:04}{self.separator}{text}"

    def begin(self, number: int) -> datetime:
        """Return the first day of a period."""
        if days := _DAYS.get(self.unit):
            return datetime.fromordinal(number * days + 1)
        parts = _PARTS.get(self.unit, 1)
        year, part = divmod(number, parts)
        return datetime.fromisoformat(f"{year:04}-{part * 12 // parts + 1:02}-01")

    def list_steps(self, keys: Iterable[Key], most: int) -> dict[str, datetime]:
        """List the periods in order, those without records only among the last ``most``."""
        numbers = sorted(filter(None, (self.parse(str(key)) for key in keys if key)))
        if not numbers:
            return {}
        first = max(numbers[0], numbers[-1] - most + 1)
        shown = [*(each for each in numbers if each < first), *range(first, numbers[-1] + 1)]
        return {self.write(number): self.begin(number) for number in shown}

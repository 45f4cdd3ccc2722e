"""The page of a list: the number in its address, and links to the pages beside it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext as _

from ....messages.numbers import format_count
from ..links import Parameters, add_query_string
from .query_string import Pair


def format_range(offset: int, size: int, total: int) -> str:
    """Write which items a page shows, after ``offset`` others, and how many there are."""
    values = {
        "first": format_count(offset + 1),
        "last": format_count(min(offset + size, total)),
        "total": format_count(total),
    }
    return _("%(first)s–%(last)s of %(total)s") % values


@dataclass(frozen=True, slots=True)
class Pagination:
    """
    One page of a list.

    ``number`` counts pages from 1, ``total`` the items of all pages.  A total that is not
    ``is_exact`` is too low, and not shown.
    """

    request: HttpRequest
    parameters: Parameters
    number: int
    size: int
    total: int
    is_exact: bool = True

    @property
    def range_text(self) -> str:
        """The numbers of the items on this page, and of all."""
        return format_range((self.number - 1) * self.size, self.size, self.total)

    @property
    def previous_address(self) -> str | None:
        """The address of the previous page; None on the first."""
        return self._build_address(self.number - 1) if self.number > 1 else None

    @property
    def next_address(self) -> str | None:
        """The address of the next page; None on the last."""
        is_last = self.number * self.size >= self.total
        return None if is_last else self._build_address(self.number + 1)

    @property
    def page_count(self) -> int:
        """The number of pages."""
        return max(1, -(-self.total // self.size))

    @property
    def first_address(self) -> str | None:
        """The address of the first page; None on it and on the second."""
        return self._build_address(1) if self.number - 1 > 1 else None

    @property
    def last_address(self) -> str | None:
        """The address of the last page; None on it and on the one before."""
        count = self.page_count
        return self._build_address(count) if self.is_exact and self.number < count - 1 else None

    @property
    def form_pairs(self) -> list[Pair]:
        """The parameters that a form for another page keeps."""
        return [pair for pair in self.parameters if pair[0] != "page"]

    def _build_address(self, number: int) -> str:
        page = [("page", str(number))] if number > 1 else []
        return add_query_string(self.request.path, [*self.form_pairs, *page])

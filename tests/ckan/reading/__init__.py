"""The reading requests, as tables: a group varies one parameter, or several, of a base."""

from __future__ import annotations

from . import filters, names, pages, questions, records, requests
from .group import Group

GROUPS: tuple[Group, ...] = (
    *pages.GROUPS,
    *records.GROUPS,
    *filters.GROUPS,
    *names.GROUPS,
    *questions.GROUPS,
    *requests.GROUPS,
)

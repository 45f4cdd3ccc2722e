"""The sections of the data page: one table, from which the page is built in one loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest

from ...contributions import Table
from ...search import ConsistentRead, Profiles
from .columns import Column, ColumnChoice
from .question import PageQuery


class Place(StrEnum):
    """
    Where a section stands.

    ``HEAD`` is the ``head`` of HTML, ``LINE`` the line below the title, ``ABOUT`` is on the page
    *About*; those ``BESIDE`` the result are beside charts and maps, too.
    """

    HEAD = "head"
    LINE = "line"
    ABOUT = "about"
    BESIDE = "beside"
    RESULT = "result"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """
    What a page shows: the read and the query, its columns, profiles of fields, the total.

    ``profiles`` is None where they cannot be had now, or were not asked for.
    """

    request: HttpRequest
    read: ConsistentRead
    query: PageQuery
    columns: Sequence[Column]
    choice: ColumnChoice
    profiles: Profiles | None = None
    total: int = 0

    @property
    def field_profiles(self) -> Profiles:
        """The profiles by the names of fields; none where they are not known."""
        return self.profiles or {}


@dataclass(frozen=True, slots=True)
class Section:
    """
    A part of the data page: a place, a template, and what the template shows (``section``).

    ``build`` answers a question; None where there is nothing to show.  A context with
    ``is_complete`` false keeps the page out of caches.
    """

    name: str
    place: Place
    template: str
    build: Callable[[PageQuestion], Mapping[str, Any] | None]


#: In the order of the page.
sections: Table[Section] = Table("sections of the data page")


def build_sections(
    question: PageQuestion, *places: Place
) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """Build the sections of some places: the template and the context of each, by place."""
    built: dict[str, list[tuple[str, Mapping[str, Any]]]] = {place: [] for place in places}
    for section in sections.values():
        if section.place in places and (context := section.build(question)) is not None:
            built[section.place].append((section.template, context))
    return built

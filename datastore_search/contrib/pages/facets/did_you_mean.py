"""“Did you mean”: links to other queries, on a page whose full-text query finds nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from ....messages.availability import TemporarilyUnavailable
from ....messages.bidi import show_bidi_controls
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ...analysis.spelling import NO_SUGGESTIONS, Suggestions, suggest_queries
from ..table.page_query import PageQuery
from ..table.query_string import Link

logger = logging.getLogger(__name__)

#: The time of the suggestions of a page.
MAX_SECONDS = 1


@dataclass(frozen=True, slots=True)
class QueryLink:
    """
    A full-text query, the link to its page, and the number of records there, also as text.

    Its words come from values, in their ``language``.
    """

    q: str
    link: Link
    total: int
    count: str
    language: str


@dataclass(frozen=True, slots=True)
class DidYouMean:
    """The links, which may be none; not ``is_complete`` where they took too long."""

    links: tuple[QueryLink, ...] = ()
    is_complete: bool = True


def suggest_links(read: ConsistentRead, query: PageQuery) -> DidYouMean:
    """Suggest pages with the same conditions; a failure is logged, and the page has no links."""
    found = _find_queries(read, query)
    links = tuple(
        QueryLink(
            show_bidi_controls(each.q),
            query.query_string.replace("q", each.q).link,
            each.total,
            format_count(each.total),
            read.resource.content_language,
        )
        for each in found.queries
    )
    return DidYouMean(links, found.is_complete)


def _find_queries(read: ConsistentRead, query: PageQuery) -> Suggestions:
    if not query.q:
        return NO_SUGGESTIONS
    asked = Query(limit=None, q=query.q, filters=query.all_conditions)
    try:
        return suggest_queries(read, asked, timedelta(seconds=MAX_SECONDS))
    except TemporarilyUnavailable as error:
        logger.warning("No queries were suggested on a page: %s", error)
        return Suggestions({}, (), is_complete=False)

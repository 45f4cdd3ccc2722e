"""Rows of a page of records: for the data page, for a frame, and for a portal's own template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from django.utils.safestring import SafeString

from ....models import Resource
from ....search import ID, ConsistentRead, Query, read_page
from ..embedding.framing import EMBED
from ..languages import choose_common_language, write_language
from ..record.keys import RecordLink, list_key_fields
from .columns import Column
from .highlighting import split_words
from .page_query import PageQuery
from .records import Row, build_rows


@dataclass(frozen=True, slots=True)
class RecordTable:
    """
    The rows of one page, and the number of records on all pages.

    The element around the rows states the language of most columns, ``language_attribute``; what
    each row has in the language of the page has the ``id_attribute``.
    """

    rows: list[Row]
    total: int
    language_attribute: SafeString
    id_attribute: SafeString


def read_record_table(
    read: ConsistentRead,
    query: PageQuery,
    columns: Sequence[Column],
    *,
    offset: int = 0,
    page_path: str | None = "",
) -> RecordTable:
    """
    Read the records of a valid query; there are no rows from the last record on.

    ``page_path`` is the path of the data page, if the links to records are not relative to it; with
    None there are no links.
    """
    search = Query(
        limit=query.size,
        offset=offset,
        q=query.q,
        filters=query.all_conditions,
        sort=query.sort,
        fields=list_read_fields(read.resource, columns),
    )
    address = query.query_string.remove(EMBED)
    link = RecordLink(read.resource, address, offset, path=f"{page_path}r/")
    build_link = None if page_path is None else link.build
    # The first column, of numbers, is in the page's language.
    language = choose_common_language(["", *(column.value_language for column in columns)])
    with closing(read_page(read, search)) as page:
        rows = build_rows(
            page, columns, words=split_words(query.q), language=language, build_link=build_link
        )
        total = page.total or 0
    return RecordTable(rows, total, write_language(language), write_language("", language))


def list_read_fields(resource: Resource, columns: Iterable[Column]) -> tuple[str, ...]:
    """List the fields that a page of some columns reads: with the keys of its records."""
    names = [ID, *list_key_fields(resource), *(column.name for column in columns)]
    return tuple(dict.fromkeys(names))

"""Rows of a page of records: for the data page, for a frame, and for a portal's own template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from django.utils.safestring import SafeString

from ....search import ID, ConsistentRead, read_page
from ..embedding.framing import EMBED
from ..languages import choose_common_language, write_language
from ..record.keys import link_record, list_key_fields
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
    # The keys of records are read for their links.
    fields = dict.fromkeys([ID, *list_key_fields(read.resource), *(each.name for each in columns)])
    search = query.build_search(query.size, offset=offset, fields=tuple(fields))
    address = query.query_string.remove(EMBED)

    def build_link(record: Mapping[str, object], position: int) -> str:
        place = offset + position + 1
        return link_record(read.resource, address, record, place, f"{page_path}r/")

    # The first column, of numbers, is in the page's language.
    language = choose_common_language(["", *(column.value_language for column in columns)])
    with closing(read_page(read, search)) as page:
        rows = build_rows(
            page,
            columns,
            words=split_words(query.q),
            language=language,
            build_link=None if page_path is None else build_link,
        )
        total = page.total or 0
    return RecordTable(rows, total, write_language(language), write_language("", language))

"""What is asked of a resource, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..filters import Condition, In
from ..spooling import Spool

#: The key of every record.
ID = "_id"


#: Pages of more records are spooled.
_LIMIT_IN_MEMORY = 1_000


#: Pages of more records may take their time.
_LIGHT_LIMIT = 100


class RecordsFormat(StrEnum):
    """How records are written."""

    OBJECTS = "objects"
    LISTS = "lists"
    CSV = "csv"
    TSV = "tsv"


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order; ``nulls_first`` is None where the direction decides."""

    field: str
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """
    What is asked of a resource.

    ``q`` is a full-text query over all fields or empty, ``q_fields`` are full-text queries over
    single fields; ``language`` is the text search configuration of both, the resource's own if
    empty.  No ``fields`` means all of them.  ``limit`` and ``offset`` count records; without a
    ``limit`` there is none.
    """

    limit: int | None
    offset: int = 0
    q: str = ""
    q_fields: Mapping[str, str] = field(default_factory=dict)
    plain: bool = True
    language: str = ""
    filters: tuple[Condition, ...] = ()
    fields: tuple[str, ...] = ()
    sort: tuple[SortKey, ...] = ()
    distinct: bool = False
    include_total: bool = True
    include_next_page: bool = False
    records_format: RecordsFormat = RecordsFormat.OBJECTS

    @property
    def is_large(self) -> bool:
        """Tell whether a page may be too large for memory."""
        return self.limit is not None and self.limit > _LIMIT_IN_MEMORY

    @property
    def is_light(self) -> bool:
        """Tell whether the keys alone lead to its few records, in milliseconds in any table."""
        return (
            self.limit is not None
            and self.limit <= _LIGHT_LIMIT
            and not (self.q or self.q_fields or self.distinct)
            and (not self.sort or self.sort[0].field == ID)
            and all(isinstance(each, In) and each.field == ID for each in self.filters)
        )

    @property
    def is_text(self) -> bool:
        """Tell whether the records are rows of text."""
        return self.records_format in {RecordsFormat.CSV, RecordsFormat.TSV}


@dataclass(frozen=True, slots=True)
class NextPage:
    """The condition on ``_id`` that the records after this page meet."""

    operator: str
    bound: int


@dataclass(frozen=True, slots=True)
class Page:
    """
    The answer.

    ``records`` is JSON, in UTF-8 and in blocks: an array, or the text of CSV rows.  What may have
    more bytes than a few megabytes is a spool.  ``total`` counts matches.  ``fields`` are names and
    types in the order of the records' members.
    """

    records: list[bytes] | Spool
    total: int | None
    fields: tuple[tuple[str, str], ...]
    next_page: NextPage | None = None

    @property
    def text(self) -> bytes:
        """All records at once, for what is known to be small."""
        return b"".join(self.records)

    @property
    def texts(self) -> Iterator[bytes]:
        """The text of each record, unless they are rows of CSV."""
        if isinstance(self.records, Spool):
            return self.records.members()
        return iter(self.records[1:-1:2])  # between brackets and commas

    def close(self) -> None:
        """Throw away what is not in memory."""
        if isinstance(self.records, Spool):
            self.records.close()

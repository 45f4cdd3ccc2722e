"""The values of a search: what is asked, what is searched, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, LiteralString

from ..database.indexes import name_substring_index
from ..database.tables import quote_record_table
from ..filters import Clause, Condition, In, names
from ..filters.names import SortKey
from ..messages.access import UnknownResource
from ..messages.parameters import InvalidParameter
from ..models import IndexKind, Resource
from .records import RawJson, RecordSizes, Spool

#: The key of every record.
ID = names.ID

#: Larger pages are copied out, within a snapshot, into a spool.
MAX_LIMIT_IN_MEMORY = 1_000

#: Larger pages may be slow whatever the query is.
_MAX_LIGHT_LIMIT = 100


class RecordsFormat(StrEnum):
    OBJECTS = "objects"
    LISTS = "lists"
    CSV = "csv"
    TSV = "tsv"


_TEXT_FORMATS = frozenset({RecordsFormat.CSV, RecordsFormat.TSV})


@dataclass(frozen=True, slots=True)
class AnswerMember:
    """
    What a contrib app adds to a page, under a name in the answer.

    ``check`` finds what does not fit a query.  ``read`` takes the ``ConsistentRead``, the
    ``BoundQuery`` and the ``FoundRecords``.  ``schema`` is the JSON Schema of what it returns.
    """

    name: str
    check: Callable[[Query], Iterable[InvalidParameter]]
    read: Callable[..., Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """
    The parameters of a search, in Python's types.

    ``q`` is a full-text query over all fields, or empty; ``q_fields`` are full-text queries over
    single fields; with ``websearch``, plain ones may have phrases, OR and excluded words.  With
    ``substrings``, their words are found within words, too.  ``language`` is
    the text search configuration of both; empty for the resource's.  All ``filters`` must
    hold.  Empty ``fields`` are all fields.  ``limit`` and ``offset`` count records; without a
    ``limit`` all matches are read.  ``members`` are added to the page.
    """

    limit: int | None
    offset: int = 0
    q: str = ""
    q_fields: Mapping[str, str] = field(default_factory=dict)
    plain: bool = True
    websearch: bool = True
    substrings: bool = False
    language: str = ""
    filters: tuple[Condition, ...] = ()
    fields: tuple[str, ...] = ()
    sort: tuple[SortKey, ...] = ()
    distinct: bool = False
    include_total: bool = True
    include_next_page: bool = False
    records_format: RecordsFormat = RecordsFormat.OBJECTS
    members: tuple[AnswerMember, ...] = ()

    @property
    def is_copied(self) -> bool:
        """Return whether PostgreSQL copies the page out: as rows of text, or since it is large."""
        is_large = self.limit is not None and self.limit > MAX_LIMIT_IN_MEMORY
        return is_large or self.records_format in _TEXT_FORMATS

    @property
    def is_light(self) -> bool:
        """Return whether the key's index finds the few records in milliseconds, in any table."""
        return (
            self.limit is not None
            and self.limit <= _MAX_LIGHT_LIMIT
            and not (self.q or self.q_fields or self.distinct)
            and (not self.sort or self.sort[0].field == ID)
            and not [each for each in self.filters if not isinstance(each, In) or each.field != ID]
        )

    @property
    def is_text(self) -> bool:
        return self.records_format in _TEXT_FORMATS


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """
    What is searched: something with the columns ``_id``, ``data`` and ``search``.

    ``types`` maps names of fields to names of types, in order.  Some records have no
    ``sparse`` fields; an index has the order of ``ordered`` ones, and the values of all fields if
    the relation ``has_value_index``.  ``substring_index`` is the name of the index of substrings,
    if there is one.  ``record_count`` is the number of records, where
    it is known; ``value_counts`` counts the records with some values, by field and JSON text.
    ``row_locator`` is the column by which a statement fetches a record that it has found before.
    ``sizes`` are the sizes of the records that were read.
    """

    source: Clause
    types: Mapping[str, str]
    language: str
    record_count: int | None
    row_locator: LiteralString = "ctid"
    sparse: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    has_value_index: bool = False
    substring_index: str | None = None
    value_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sizes: RecordSizes = field(default_factory=RecordSizes)


def describe_fields(
    fields: Iterable[tuple[str, str]], infos: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Describe fields as CKAN does: ``info`` only for those with a data dictionary entry."""
    return [
        {"id": name, "type": kind, **({"info": infos[name]} if infos.get(name) else {})}
        for name, kind in fields
    ]


def build_relation(resource: Resource) -> Relation:
    """
    Describe the record table of a resource, which has its load and its fields.

    Raises: ``UnknownResource`` when it has no table.
    """
    version = resource.table_version
    if version is None:
        raise UnknownResource(resource=resource.pk)
    return Relation(
        source=Clause(quote_record_table(version.pk)),
        types=resource.types,
        language=version.language,
        record_count=version.record_count,
        row_locator="_id" if version.is_placed else "ctid",  # Citus cannot read ctid of no rows
        sparse=frozenset(field.name for field in resource.schema if field.is_sparse),
        ordered=frozenset(field.name for field in resource.schema if field.has_order_index),
        has_value_index=IndexKind.FILTERS in version.indexes,
        substring_index=name_substring_index(version.pk)
        if IndexKind.SUBSTRINGS in version.indexes
        else None,
        value_counts=version.value_counts,
    )


@dataclass(frozen=True, slots=True)
class NextPage:
    """The condition on ``_id`` that the records after this page meet."""

    operator: str
    bound: int


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """
    The answer.

    ``records`` is JSON: an array, or a text of CSV rows.  It is a spool where
    it may have more than a few megabytes.  ``total`` is the number of matches.  ``fields`` are the
    names and types of the records' members, in order.  ``members`` are those of the query.
    ``record_count`` is the number of records.
    """

    records: RawJson | Spool
    total: int | None
    fields: tuple[tuple[str, str], ...]
    next_page: NextPage | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    record_count: int = 0

    @property
    def text(self) -> bytes:
        """All records at once, if there are few."""
        return b"".join(self.records)

    @property
    def texts(self) -> Iterator[bytes]:
        """The text of each record, unless they are rows of CSV."""
        return self.records.read_members()

    def close(self) -> None:
        """Discard what is not in memory."""
        self.records.close()

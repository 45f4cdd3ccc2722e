"""
Find tables by their records, for searches of the catalogue.

A row for each dataset (``DatasetText``) has its texts, and the words of the records of a table, so
that one index finds the tables that have a word.  A thread makes the rows that a search has missed:
no load and no write waits for them.  Several words may be in different records, so the tables found
are asked by their own indexes, as are those that are large or have changed since.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock, Thread
from typing import Any, Final, LiteralString, NamedTuple

from django.db import DatabaseError, Error, IntegrityError, connections, router
from django.db.models import BooleanField, F, Func, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Now
from psycopg import sql

from ...database.sessions import Session
from ...database.statements import (
    Clause,
    begin_write_transaction,
    compose,
    explain_refusal,
    is_connection_lost,
    join_with_commas,
    write_rows,
)
from ...database.tables import name_record_table, quote_record_table
from ...filters.full_text import compile_words, has_excluded, has_too_many_words
from ...messages import DatastoreError
from ...models import Resource, ResourceQuerySet
from .models import Dataset, DatasetText

logger = logging.getLogger(__name__)

#: The words of a table with more records are not kept: it has an index of its own.
MAX_RECORDS: Final = 100_000

#: The bytes of the words of a table.  Source: PostgreSQL's limit of a ``tsvector``.
_MAX_WORD_BYTES: Final = 1_000_000

#: Tables that a search asks by their own indexes, at most for so long, and in one statement.
MAX_ASKED: Final = 200
_MAX_SECONDS: Final = 0.05
_BATCH: Final = 25

#: Records of a table that are counted.
MAX_COUNTED: Final = 10_000

#: The words of a query.
_MAX_WORDS: Final = 50

#: The words of a table that changes all the time are read once in this time.
_RENEWED_AFTER: Final = timedelta(minutes=10)

#: The time that a process waits before it looks again for what has changed.
_PAUSE_SECONDS: Final = 10.0


class _Table(NamedTuple):
    resource_id: uuid.UUID
    table_id: int
    language: str


class FoundRecords(NamedTuple):
    """The number of records that match; there are more unless it ``is_exact``."""

    total: int
    is_exact: bool


@dataclass(frozen=True)
class ContentSearch:
    """A search for records with the words and phrases of ``text``, which may be empty."""

    session: Session
    text: str

    def find(self, resources: ResourceQuerySet) -> tuple[ResourceQuerySet, bool]:
        """Find those of loaded resources that have such a record, and whether all were asked."""
        if has_too_many_words([self.text], plain=False, max_words=_MAX_WORDS):
            return resources.none(), False
        known = resources.filter(searched__version=F("version"), searched__words__isnull=False)
        # A left join, in place of the subquery that Django makes of NOT.
        is_unknown = Q(searched__words=None) | _is_of_other_version(F("version"))
        to_ask = _list_tables(resources.filter(is_unknown))
        texts = DatasetText.objects.using(resources.db)
        languages = texts.values_list("language", flat=True).distinct()
        queries = self._compile({*languages, *(table.language for table in to_ask)} - {""})
        if not queries:
            return resources.none(), True
        if to_ask and self.session.has_own_snapshot:
            begin_reading()
        holds = Q()
        for language, query in queries.items():
            is_held = Func(
                F("searched__words"),
                Value(query),
                template="%(expressions)s::tsquery",
                arg_joiner=" @@ ",
                output_field=BooleanField(),
            )
            holds |= Q(is_held, searched__language=language)
        holding = known.filter(holds)
        is_exact = not has_excluded(self.text) and all(map(_is_of_one_word, queries.values()))
        if not is_exact:
            to_ask = [*_list_tables(holding), *to_ask]
        statement: LiteralString = "SELECT {id}, EXISTS (SELECT FROM {table} WHERE {matches})"
        rows = self._ask(to_ask[:MAX_ASKED], statement)
        ids, is_complete = [pk for pk, is_found in rows if is_found], len(rows) == len(to_ask)
        if is_exact and not ids:
            return holding, is_complete
        matching = Q(pk__in=ids)
        if is_exact:
            matching |= Q(pk__in=holding.values("pk"))
        return resources.filter(matching), is_complete

    def count(self, resources: Collection[Resource]) -> dict[uuid.UUID, FoundRecords]:
        """Count the records that match of the first resources, as far as the time suffices."""
        tables = [
            _Table(each.pk, each.table_version.pk, each.table_version.language)
            for each in resources
            if each.table_version
        ]
        counted = self._ask(
            tables[:MAX_ASKED],
            "SELECT {id}, count(*) FROM"
            " (SELECT FROM {table} WHERE {matches} LIMIT {most}) AS found",
        )
        return {
            pk: FoundRecords(min(total, MAX_COUNTED), total <= MAX_COUNTED)
            for pk, total in counted
            if total
        }

    def _compile(self, languages: Collection[str]) -> dict[str, str]:
        """Compile the text for each language of tables into what all words of a table must meet."""
        if not languages:
            return {}
        clauses = [
            compose("({}::text)", compile_words(self.text, each, has_excluded=False))
            for each in languages
        ]
        (row,) = self.session.fetch_rows(compose("SELECT {}", join_with_commas(clauses)))
        return {
            language: _PLACES.sub(lambda found: "&" if found["place"] else found[0], query)
            for language, query in zip(languages, row, strict=True)
            if query
        }

    def _ask(
        self, tables: Sequence[_Table], statement: LiteralString
    ) -> list[tuple[uuid.UUID, Any]]:
        """Ask tables by their own indexes; those that it has no time for are left out."""
        answers: list[tuple[uuid.UUID, Any]] = []
        ends_at = time.monotonic() + _MAX_SECONDS
        names = [name_record_table(each.table_id) for each in tables]
        is_there = Clause(
            sql.SQL("SELECT to_regclass(name) FROM unnest(%s::text[]) AS name"), [names]
        )
        found = self.session.fetch_rows(is_there) if names else []
        kept = [table for table, (name,) in zip(tables, found, strict=True) if name]
        for start in range(0, len(kept), _BATCH):
            limit = timedelta(seconds=max(0, ends_at - time.monotonic()))
            if not limit:
                break
            batch = [
                compose(
                    statement,
                    id=Clause(sql.Literal(each.resource_id)),
                    table=Clause(quote_record_table(each.table_id)),
                    matches=compose("search @@ {}", compile_words(self.text, each.language)),
                    most=Clause(sql.Literal(MAX_COUNTED + 1)),
                )
                for each in kept[start : start + _BATCH]
            ]
            asked = compose(" UNION ALL ".join(["{}"] * len(batch)), *batch)
            # A table may be too slow, or be dropped just now.
            with suppress(DatabaseError), self.session.contain_failure():
                answers += self.session.fetch_rows(asked, limit=limit)
                # PostgreSQL has room for some thousand locks; this releases those on the tables.
                self.session.connection.needs_rollback = self.session.connection.in_atomic_block
        return answers


def _is_of_other_version(version: Combinable) -> Q:
    """Match an older text, or one that an older dump has left behind."""
    return Q(searched__version__lt=version) | Q(searched__version__gt=version)


def _list_tables(resources: QuerySet[Resource]) -> list[_Table]:
    """List one table more than can be asked, the largest first."""
    ids = list(resources.values_list("pk", flat=True)[: 10 * MAX_ASKED])
    rows = Resource.objects.using(resources.db).filter(pk__in=ids)
    rows = rows.order_by("-table_version__record_count")
    columns = ("pk", "table_version_id", "table_version__language")
    return [_Table(*row) for row in rows.values_list(*columns)[: MAX_ASKED + 1]] if ids else []


#: A quoted word of a ``tsquery``, or what says that one follows another.
_PLACES: Final = re.compile(r"'(?:[^']|'')*'|(?P<place><(?:-|[0-9]+)>)")


def _is_of_one_word(query: str) -> bool:
    """Return whether a record matches exactly if its table has one of the words."""
    return not {"&", "!"} & set(re.sub(_PLACES, "", query))


# Reading the words --------------------------------------------------------------------------------

_READ: Final = """
INSERT INTO {texts} (dataset_id, resource_id, version, text, language, words, read_at)
SELECT dataset.id, resource.id, coalesce(resource.version, dataset.version),
    datastore_search_catalogue_text(dataset.id), {language}, ({words}), now()
FROM {datasets} AS dataset LEFT JOIN {resources} AS resource ON resource.id = dataset.resource_id
WHERE dataset.id = {id} AND resource.table_version_id IS NOT DISTINCT FROM {table_id}
ON CONFLICT (dataset_id) DO UPDATE SET version = excluded.version, text = excluded.text,
    language = excluded.language, words = excluded.words, read_at = excluded.read_at
"""
#: The words that are too many are counted, and not kept in memory.
_WORDS: Final = """
SELECT CASE WHEN coalesce(max(total), 0) <= {most}
    THEN coalesce(array_to_tsvector(array_agg(word) FILTER (WHERE total <= {most})), '') END
FROM (SELECT word, sum(octet_length(word)) OVER (ROWS UNBOUNDED PRECEDING) AS total
    FROM (SELECT DISTINCT unnest(tsvector_to_array(search)) AS word FROM {table}) AS words) AS sums
"""

_is_reading = Lock()


def begin_reading() -> None:
    """Read what has changed in a thread, unless one of this process does, or has just done it."""
    if not _is_reading.acquire(blocking=False):
        return

    def read() -> None:
        try:
            read_changed_datasets()
        except (DatastoreError, Error) as error:
            logger.warning("The words of tables are not read: %s", error)
        finally:
            connections.close_all()
            time.sleep(_PAUSE_SECONDS)
            _is_reading.release()

    try:
        Thread(target=read, name="datastore_search_words", daemon=True).start()
    except RuntimeError:  # this process may have no more threads
        _is_reading.release()


def clean_up() -> Iterator[str]:
    """Read the words again that deleted records have left in tables that nobody has searched."""
    if number := read_changed_datasets(timedelta(0)):
        yield f"Read the words of datasets for searches of the catalogue: {number}."


def read_changed_datasets(renewed_after: timedelta = _RENEWED_AFTER) -> int:
    """Read the texts of the datasets that have changed, and the words of their tables."""
    using = router.db_for_write(Dataset)
    version = Coalesce("resource__version", "version")
    is_due = Q(searched__read_at=None) | Q(searched__read_at__lt=Now() - renewed_after)
    is_changed = Q(searched=None) | Q(searched__read_at=None) | _is_of_other_version(version)
    changed = Dataset.objects.using(using).filter(is_due & is_changed).order_by("pk")
    columns = ("pk", "resource__table_version_id", "resource__table_version__language")
    counted = changed.values_list(*columns, "resource__table_version__record_count")
    number, last = 0, ""
    while rows := list(counted.filter(pk__gt=last)[:100]):
        for pk, table_id, language, record_count in rows:
            number += _read_dataset(using, pk, table_id, language or "", record_count or 0)
        last = rows[-1][0]
    return number


def _read_dataset(
    using: str, pk: str, table_id: int | None, language: str, record_count: int
) -> int:
    """Read a dataset, without words if these cannot be read; return 0 if it has just changed."""
    choices: list[sql.Composable] = [sql.NULL]
    if table_id is not None and record_count <= MAX_RECORDS:
        table = quote_record_table(table_id)
        choices.insert(0, sql.SQL(_WORDS).format(most=sql.Literal(_MAX_WORD_BYTES), table=table))
    for words in choices:
        statement = sql.SQL(_READ).format(
            texts=sql.Identifier(DatasetText._meta.db_table),
            datasets=sql.Identifier(Dataset._meta.db_table),
            resources=sql.Identifier(Resource._meta.db_table),
            id=sql.Literal(pk),
            table_id=sql.Literal(table_id),
            language=sql.Literal(language),
            words=words,
        )
        try:
            with begin_write_transaction(connections[using]):
                return write_rows(connections[using], statement)
        except IntegrityError:  # another process has read it, or it was deleted
            return 0
        except (DatastoreError, Error) as error:
            logger.warning("The words of %s are not read: %s", pk, error)
            # What no dataset can be read for is logged once.
            if words is sql.NULL and (explain_refusal(error) or is_connection_lost(error)):
                raise
    return 0

"""``_table_metadata``: the names of readable resources.  Source: CKAN's table of this name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import LiteralString

from psycopg import sql

from ...filters import Clause
from ...guards.shares import Client
from ...models import Alias, Reader, Resource
from ...search import ConsistentRead, Query, Relation, SearchAnswer, open_snapshot, read_answer

#: The name of the pseudo table, used like a resource's id.
TABLE_METADATA = "_table_metadata"

FIELD_TYPES = {"name": "text", "oid": "int8", "alias_of": "text"}


def read_table_metadata(reader: Reader, query: Query, client: Client) -> SearchAnswer:
    """
    Read the ids and aliases of the loaded resources that a user may read.

    The page has no total where it would be wrong.

    Raises: as ``read_answer``.
    """
    with open_snapshot(client) as session:
        using = session.connection.alias
        loaded = Resource.objects.using(using).filter(table_version__isnull=False)
        readable = loaded.readable_by(reader)
        named = loaded.filter(readable.condition).order_by().values_list("id", "table_version_id")
        text, parameters = named.query.get_compiler(using).as_sql()
        found = read_answer(ConsistentRead(session, _build_relation(text, parameters)), query)
    return found if readable.is_complete else replace(found, total=None)


def _build_relation(readable: LiteralString, parameters: Sequence[object]) -> Relation:
    """Build a relation of names from the ORM's statement for the ids of resources and tables."""
    return Relation(
        source=Clause(
            sql.SQL(_SOURCE).format(
                readable=sql.SQL(readable),
                aliases=sql.Identifier(Alias._meta.db_table),
            ),
            list(parameters),
        ),
        types=FIELD_TYPES,
        language="simple",
        record_count=None,
        row_locator="_id",
    )


_SOURCE = """(
    SELECT _id, data, datastore_search_vector(data, 'simple') AS search
    FROM (
        SELECT row_number() OVER (ORDER BY oid, alias_of NULLS FIRST, name) AS _id,
            jsonb_build_object('name', name, 'oid', oid, 'alias_of', alias_of) AS data
        FROM (
            WITH readable (id, oid) AS ({readable})
            SELECT id::text AS name, oid, NULL AS alias_of FROM readable
            UNION ALL
            SELECT alias.name, oid, readable.id::text
            FROM {aliases} AS alias JOIN readable ON readable.id = resource_id
        ) AS named
    ) AS numbered
) AS record"""

"""
``_table_metadata``: the names under which a reader may ask for records, as records themselves.

Source: CKAN's pseudo table of this name; it lists private tables to everybody, this one does not.
"""

from __future__ import annotations

from typing import LiteralString, cast

from psycopg import sql

from ...filters import Clause
from ...models import Alias, Reader, Resource, ResourceQuerySet
from ...object_permissions import Permitted
from ...search import Relation

#: Asked for in place of a resource's id.
NAME = "_table_metadata"

_NAMES = {"name": "text", "oid": "int8", "alias_of": "text"}


def find_readable_resources(user: Reader, *, using: str) -> Permitted:
    """Find the loaded resources that a user may read, as a database has them."""
    return _loaded(using).readable_by(user)


def build_names_relation(readable: Permitted, *, using: str) -> Relation:
    """Give the relation of the ids and aliases of some loaded resources, as a database has them."""
    found = _loaded(using).filter(readable.condition).order_by()
    named = found.values_list("id", "current_load_id")
    text, parameters = named.query.get_compiler(using).as_sql()
    return Relation(
        source=Clause(
            sql.SQL(_SOURCE).format(
                readable=sql.SQL(cast("LiteralString", text)),  # which the ORM has written
                aliases=sql.Identifier(Alias._meta.db_table),  # noqa: SLF001 - Django's public name for it
            ),
            list(parameters),
        ),
        names=_NAMES,
        language="simple",
        rows=None,
        place="_id",
    )


def _loaded(using: str) -> ResourceQuerySet:
    return Resource.objects.using(using).filter(current_load__isnull=False)


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

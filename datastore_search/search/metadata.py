"""
``_table_metadata``: the names under which a reader may ask for records, as records themselves.

Source: CKAN's pseudo table of this name; it lists private tables to everybody, this one does not.
"""

from __future__ import annotations

from psycopg import sql

from ..filters import Clause
from ..models import Alias, Reader, Resource
from .relations import Relation

#: Asked for in place of a resource's id.
NAME = "_table_metadata"

_NAMES = {"name": "text", "oid": "int8", "alias_of": "text"}


def relation_of_names(user: Reader, *, using: str) -> Relation:
    """Give the relation of all ids and aliases that a user may read, as a database has them."""
    readable = Resource.objects.using(using).filter(current_load__isnull=False).readable_by(user)
    readable_ids = list(readable.values_list("pk", flat=True))
    return Relation(
        source=Clause(
            sql.SQL(_SOURCE).format(
                resources=sql.Identifier(Resource._meta.db_table),  # noqa: SLF001 - Django's public name for it
                aliases=sql.Identifier(Alias._meta.db_table),  # noqa: SLF001 - Django's public name for it
            ),
            [readable_ids, readable_ids],
        ),
        names=_NAMES,
        language="simple",
        rows=None,
        place="_id",
    )


_SOURCE = """(
    SELECT _id, data, datastore_search_vector(data, 'simple') AS search
    FROM (
        SELECT row_number() OVER (ORDER BY oid, alias_of NULLS FIRST, name) AS _id,
            jsonb_build_object('name', name, 'oid', oid, 'alias_of', alias_of) AS data
        FROM (
            SELECT id::text AS name, current_load_id AS oid, NULL AS alias_of FROM {resources}
            WHERE id = ANY(%s::uuid[])
            UNION ALL
            SELECT alias.name, current_load_id, resource.id::text
            FROM {aliases} AS alias JOIN {resources} AS resource ON resource.id = resource_id
            WHERE resource.id = ANY(%s::uuid[])
        ) AS named
    ) AS numbered
) AS record"""

"""Make the profiles of a table version anew from its records, which a write has changed."""

from __future__ import annotations

from django.db import connections, router, transaction
from django.db.models import F

from ....conf import conf
from ....database.sessions import open_session
from ....field_types import field_types
from ....models import Resource, TableVersion
from ....search import ConsistentRead, Query, RecordCopy, RecordsFormat, build_relation
from ..formats.row_writer import RowWriter
from ..formats.staging import StagedTable, create_staging_area
from ..sources.files import create_working_folder
from ..types.field_formats import Decision, field_formats
from .profiles import build_profiles


def renew_profiles(version: TableVersion) -> bool:
    """Profile the records in DuckDB; False if they have changed meanwhile: nothing is stored."""
    connection = connections[router.db_for_write(TableVersion)]
    with (
        create_working_folder() as folder,
        create_staging_area(folder) as area,
        open_session(
            connection, conf.DUMP_TIMEOUT, conf.SEARCH_MEMORY_BYTES, as_snapshot=True
        ) as session,
    ):
        resource = Resource.objects.using(connection.alias).described(version.resource_id)
        names, kinds = tuple(resource.types), tuple(resource.types.values())
        nested = [field_types[kind].is_nested for kind in kinds]
        read = ConsistentRead(session, build_relation(resource), resource)
        query = Query(limit=None, fields=names, records_format=RecordsFormat.CSV)
        with RowWriter(area, len(names)) as writer, RecordCopy(read, query).open_cells() as rows:
            for line, cells in enumerate(rows, 1):
                # A list or JSON that a record lacks is copied as JSON's null.
                pairs = zip(cells, nested, strict=True)
                writer.add_row(
                    line, [None if each == ("null", True) else each[0] for each in pairs]
                )
            writer.finish(names, range(len(names)))
        decisions = [Decision(field_formats[kind], is_chosen=True) for kind in kinds]
        profiles = build_profiles(StagedTable(area, names, names, kinds), decisions)
    seen = Resource.objects.filter(pk=resource.pk, version=resource.version, table_version=version)
    with transaction.atomic(using=connection.alias):
        if not seen.select_for_update(no_key=True, of=("self",)):
            return False
        version.refresh_from_db(fields=["fingerprint"])
        profiles["fingerprint"] = version.fingerprint
        TableVersion.objects.filter(pk=version.pk).update(profiles=profiles)
        seen.update(version=F("version"))  # what was answered without them is outdated
    return True

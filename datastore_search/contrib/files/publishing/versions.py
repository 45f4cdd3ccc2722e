"""Switch a resource to other records, and keep for some days what a load of a user has replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import connections, router, transaction
from django.db.models import BigIntegerField, Exists, F, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from ....database.statements import RowToLock, begin_write_transaction
from ....database.tables import has_table
from ....models import Field, Resource, TableVersion, drop_tables_on_commit
from ....signals import resource_written
from ....writing.history import record_changes
from ..conf import conf
from ..messages import LoadFailed
from ..models import Load

_FIELDS_PER_STATEMENT: Final = 500

#: What a version decides about a field; what people have written about it stays.
_DECIDED: Final = ("position", "type", "is_sparse", "has_order_index")

_STORED: Final = [
    each.attname for each in Field._meta.concrete_fields if each.name not in {"id", "resource"}
]

#: A version is not dropped as soon as it may no longer be published: somebody may just be doing it.
_GRACE: Final = timedelta(hours=1)


def serve_version(
    resource: Resource, version: TableVersion, fields: Sequence[Field], key: Sequence[str]
) -> None:
    """Let a resource, whose row is locked, serve a version with these fields."""
    resource.fields.exclude(name__in=[each.name for each in fields]).delete()
    Field.objects.bulk_create(
        fields,
        update_conflicts=True,
        unique_fields=["resource", "name"],
        update_fields=_DECIDED,
        batch_size=_FIELDS_PER_STATEMENT,
    )
    version.published_at = timezone.now()
    version.save()
    resource.table_version = version
    resource.primary_key = list(key)
    resource.save(update_fields=["table_version", "primary_key", "modified_at"])


def keep_former_version(load: Load, resource: Resource) -> None:
    """
    Keep the version that the load of a user is about to replace, in place of an older one.

    Commands and schedules keep none: they often load the same file again and again.
    """
    loads = Load.objects.filter(resource=resource)
    loads.filter(former__isnull=False).update(former=None)
    if load.user_id is not None and conf.UPLOAD_RETENTION and resource.table_version_id:
        loads.filter(pk=load.pk).update(former=_describe_served(resource))


def find_former_version(load: Load) -> TableVersion | None:
    """Find the version that can be published in place of that which is served, if it is kept."""
    found: Any = select_with_former(Load.objects.filter(pk=load.pk)).first()
    version = found and TableVersion.objects.filter(pk=found.former_id).first()
    return version if version and has_table(_connect(), version.pk) else None


def select_with_former(loads: QuerySet[Load]) -> QuerySet[Load]:
    """Keep the loads whose former version can be published; ``former_id`` is its key."""
    former_id = Cast(KT("former__version"), BigIntegerField())
    replaceable = Q(table_version=F("resource__table_version")) | Q(table_version=F("former_id"))
    return loads.annotate(former_id=former_id).filter(
        replaceable,
        Exists(TableVersion.objects.filter(pk=OuterRef("former_id"))),
        resource__table_version__isnull=False,
        finished_at__gt=timezone.now() - conf.UPLOAD_RETENTION,
    )


def publish_former_version(load: Load, version_id: str, user: Any) -> None:
    """
    Publish this former version, unless it is served by now; the other one is kept in its place.

    Raises: ``LoadFailed`` with ``load.not_kept``; as ``begin_write_transaction``.
    """
    with _lock_former_version(load, version_id) as (locked, version):
        if version:
            resource, served = locked.resource, locked.resource.table_version
            Load.objects.filter(pk=load.pk).update(former=_describe_served(resource))
            fields = [Field(resource=resource, **each) for each in locked.former["fields"]]
            serve_version(resource, version, fields, locked.former["key"])
            counts = {"added": version.record_count, "updated": 0, "deleted": served.record_count}
            record_changes(user, resource, counts, _connect().alias)
            send = partial(resource_written.send_robust, Resource, resource=resource, **counts)
            transaction.on_commit(send, using=_connect().alias, robust=True)


def delete_former_version(load: Load, version_id: str) -> None:
    """Delete this former version, unless it is served; raise as ``publish_former_version``."""
    with _lock_former_version(load, version_id) as (_locked, version):
        if version:
            Load.objects.filter(pk=load.pk).update(former=None)
            drop_tables_on_commit([version.pk], using=_connect().alias)
            version.delete()


@contextmanager
def _lock_former_version(load: Load, version_id: str) -> Iterator[tuple[Any, TableVersion | None]]:
    """Lock a resource, and find its former version; None if it is served by now."""
    with begin_write_transaction(_connect(), RowToLock(Resource._meta.db_table, load.resource_id)):
        locked = Load.objects.select_for_update(of=("self",)).filter(pk=load.pk).first()
        version = find_former_version(locked) if locked else None
        is_served = locked and str(locked.resource.table_version_id) == version_id
        if not is_served and (version is None or str(version.pk) != version_id):
            raise LoadFailed("load.not_kept")
        yield locked, None if is_served else version


def list_former_tables(table_ids: Collection[int]) -> dict[int, datetime]:
    """Map those of unserved tables that may be published again to the end of that time."""
    resources = TableVersion.objects.filter(pk__in=table_ids).values("resource")
    loads = Load.objects.filter(resource__in=resources, former__isnull=False)
    kept = loads.filter(finished_at__gt=timezone.now() - conf.UPLOAD_RETENTION - _GRACE)
    ends: Any = kept.values_list("former__version", "finished_at")
    return {pk: moment + conf.UPLOAD_RETENTION for pk, moment in ends if pk in table_ids}


def _connect() -> Any:
    return connections[router.db_for_write(Load)]


def _describe_served(resource: Resource) -> dict[str, Any]:
    fields = list(resource.fields.values(*_STORED))
    return {"version": resource.table_version_id, "key": resource.primary_key, "fields": fields}

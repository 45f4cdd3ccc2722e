"""Recognise a file that has been loaded already (``docs/decisions/0018``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

from django.db import connections, router

from .... import __version__
from ....database.tables import count_records
from ....models import Resource, TableSettings
from ..models import Load
from ..types.options import LoadOptions, resolve_key


def is_unchanged(load: Load, options: LoadOptions) -> bool:
    """Return whether loading a file would make the records that the resource serves already."""
    if options.force or not load.checksum:
        return False
    resource = Resource.objects.filter(pk=load.resource_id).select_related("table_version").first()
    if resource is None or resource.table_version is None:
        return False
    served = resource.table_version
    key = resolve_key(resource, options)
    fingerprint = compute_fingerprint(load, options, key, resource.table_settings)
    if fingerprint != served.fingerprint:
        return False
    # Something else may have removed records: a restore without them, a statement by hand.
    connection = connections[router.db_for_write(Load)]
    return count_records(connection, served.pk) == served.record_count


def compute_fingerprint(
    load: Load, options: LoadOptions, key: Sequence[str], settings: TableSettings
) -> str:
    """
    Compute a digest of everything that the records of a load are made from.

    That is the file, how it is read and indexed, and the version of this package.  A load whose
    file has no checksum gets a digest of its own.
    """
    if not load.checksum:
        return f"load {load.pk}"
    made_of = {
        "version": __version__,
        "file": load.checksum,
        "options": options.select_content_options().to_json(),
        "key": list(key),
        **{name: value for name, value in settings._asdict().items() if value},
    }
    return sha256(json.dumps(made_of, sort_keys=True, default=list).encode()).hexdigest()

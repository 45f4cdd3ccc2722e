"""
Telling a file that has been loaded already.

The load that a resource serves keeps a digest of what its records were made of.  Every other change
of the records takes it away, so that it can be trusted (``docs/decisions/0018``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from django.db import connections, router

from ... import __version__, storage
from ...models import Load, Resource
from ..typing.options import LoadOptions, resolve_key


def is_unchanged(load: Load, options: LoadOptions) -> bool:
    """Tell whether loading a file would make the records that the resource serves already."""
    if options.force or not load.checksum:
        return False
    resource = Resource.objects.filter(pk=load.resource_id).select_related("current_load").first()
    if resource is None or resource.current_load is None:
        return False
    served = resource.current_load
    if fingerprint(load, options, resolve_key(resource, options)) != served.fingerprint:
        return False
    # Something else may have taken records away: a restore without them, a statement by hand.
    connection = connections[router.db_for_write(Load)]
    return storage.count_records(connection, served.pk) == served.rows


def fingerprint(load: Load, options: LoadOptions, key: Sequence[str]) -> str:
    """
    Digest what the records of a load are made of.

    That is the file, how it is read, and by which version of this package; a load whose file is
    not known by a checksum is like no other.
    """
    if not load.checksum:
        return f"load {load.pk}"
    made_of = {
        "version": __version__,
        "file": load.checksum,
        "options": replace(options.content_options(), key=None).to_json(),
        "key": list(key),
        "language": load.language,
        "indexes": load.indexes,
    }
    return sha256(json.dumps(made_of, sort_keys=True, default=list).encode()).hexdigest()

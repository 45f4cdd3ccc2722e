"""Resources as the lists of the admin show them."""

from __future__ import annotations

from typing import Any

from datastore_search.contrib.files.models import LoadState
from datastore_search.models import Resource

from ...builders import make_listed_resource


def list_with_load(name: str, **values: Any) -> Resource:
    """Make a resource that is listed with a load, as after its file was loaded."""
    resource = make_listed_resource(name, **values)
    resource.loads.create(source=f"{name}.csv", state=LoadState.READY)
    return resource

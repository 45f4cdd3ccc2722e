"""Load files as a user: what this app adds to ``datastore_search.interface``."""

from __future__ import annotations

from pathlib import Path

from django.core.files import File

from ...interface import Caller, Name, get_resource
from . import jobs
from .jobs import LoadOptions
from .messages.failures import LoadFailed
from .models import Load

__all__ = ["Load", "LoadFailed", "LoadOptions", "load_file", "submit_load"]


def load_file(
    caller: Caller,
    resource_id: Name,
    path_or_url: Path | str,
    *,
    options: LoadOptions | None = None,
    source: str = "",
) -> Load:
    """
    Load a file into a resource that a user may change, in this process.

    ``path_or_url`` is a path of this machine, or a URL.  ``source`` is the name of the file for
    users, by default the name in the path or the URL.

    Raises: ``UnknownResource``; ``AccessDenied``; ``LoadFailed``, and the old records stay.
    """
    resource = get_resource(caller, resource_id, verb="change")
    return jobs.load_file(resource, path_or_url, options=options, source=source)


def submit_load(
    caller: Caller,
    resource_id: Name,
    *,
    file: File | None = None,
    url: str = "",
    options: LoadOptions | None = None,
) -> Load:
    """
    Queue the load of an upload or a URL for the worker, when the transaction is committed.

    Raises: ``UnknownResource``; ``AccessDenied``; ``LoadFailed`` for a URL that is refused.
    """
    resource = get_resource(caller, resource_id, verb="change")
    return jobs.submit_load(resource, file=file, url=url, options=options)

"""
The files of resources: they are stored as they came, and loaded if they are tables.

Source: CKAN's uploads of resources, and ``munge_filename`` for their names; ckanext-xloader, which
loads an upload by its format.
"""

from __future__ import annotations

import mimetypes
import re
import secrets
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, timedelta
from pathlib import PurePath
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import router, transaction
from django.utils import timezone
from rest_framework.request import Request

from ...api.authentication import get_reader
from ...api.uploads import UploadStore
from ...database.statements import Call
from ...guards.folders import delete_stray_files
from ...messages.availability import FileNotStored
from ...models import Resource
from ...web.addresses import ResourceAddresses
from .conf import conf
from .formats import list_formats
from .jobs.queue import cancel_loads, create_load, enqueue_load
from .messages.failures import LoadFailed
from .models import (
    FINISHED,
    UPLOADS_FOLDER,
    Load,
    LoadState,
    ResourceFile,
    delete_unneeded_file,
    get_upload_storage,
)
from .types.options import LoadOptions

FOLDER: Final = f"{UPLOADS_FOLDER}/files"

#: The ``url_type`` of a resource with a file.
URL_TYPE: Final = "upload"

#: After this time, a file without a row is left over.
_STRAY: Final = timedelta(hours=1)

#: Source: CKAN, ``ckan.lib.munge``.
_MAX_NAME_LENGTH, _MIN_NAME_LENGTH, _MAX_SUFFIX_LENGTH = 100, 3, 21

#: Suffixes of files that are packed; the format is that of the file within.
_PACKED: Final = (".gz",)

#: The descriptor of a Data Package is JSON, and no table.
_DESCRIPTOR: Final = "datapackage.json"


def clean_file_name(name: str) -> str:
    """
    Clean the name of a file, for its address: ``My File.csv`` is ``my-file.csv``.

    Letters with marks are written without them; CKAN leaves out those of other languages.
    """
    text = name.replace("\\", "/").rpartition("/")[2].lower().strip().replace("đ", "d")
    text = re.sub(r"[^a-z0-9_. -]", "", unicodedata.normalize("NFKD", text))
    path = PurePath(re.sub(r"-+", "-", text.replace(" ", "-")) or "_")
    suffix = path.suffix[:_MAX_SUFFIX_LENGTH]
    stem = path.name.removesuffix(path.suffix)[: _MAX_NAME_LENGTH - len(suffix)]
    return stem.ljust(max(1, _MIN_NAME_LENGTH - len(suffix)), "_") + suffix


def guess_format(name: str) -> str:
    """Guess the format of a file by its name, as ``CSV``; empty if it is unknown."""
    for packed in _PACKED:
        name = name.removesuffix(packed)
    suffix = PurePath(name).suffix[1:]
    is_known = suffix in _list_loaded() or mimetypes.guess_type(name)[0]
    return _list_loaded().get(suffix, suffix.upper()) if is_known else ""


def _list_loaded() -> dict[str, str]:
    """List the formats that are loaded, by their names in small letters."""
    names = (
        name
        for each in list_formats()
        if each.read and not each.unpack
        for name in each.name.split(", ")
    )
    return {name.lower(): name for name in names}


def is_loaded(name: str, format_name: str) -> bool:
    """Return whether a file is loaded: by the format of its resource, or else by its name."""
    named = format_name or guess_format(name)
    return named.lower() in _list_loaded() and name != _DESCRIPTOR


# Storing ------------------------------------------------------------------------------------------


def receive_file(
    request: Request, resource: Resource, file: UploadedFile | None, members: Mapping[str, Any]
) -> Mapping[str, Any]:
    """See ``UploadStore``; the file takes the place of the earlier one, whose loads it cancels."""
    old = ResourceFile.objects.filter(resource=resource).first()
    if file is None:
        return _keep_file(request, resource, old, members)
    name, now = clean_file_name(file.name or ""), timezone.now()
    secret = f"{FOLDER}/{secrets.token_urlsafe(24)}{PurePath(name).suffix}"
    try:
        stored = get_upload_storage().save(secret, file)
    except OSError as error:
        raise FileNotStored from error
    size = file.size or 0
    values = {"file": stored, "name": name, "size_bytes": size, "stored_at": now}
    ResourceFile.objects.update_or_create(resource=resource, defaults=values)
    if old:
        _forget_file(resource, str(old.file))
    # What was guessed of the name of the earlier file is guessed again.
    known = {"mimetype": mimetypes.guess_type(name)[0], "format": guess_format(name)}
    if old is None or members.get("mimetype") != mimetypes.guess_type(old.name)[0]:
        known["mimetype"] = members.get("mimetype") or known["mimetype"]
    if old is None or str(members.get("format")).lower() != guess_format(old.name).lower():
        known["format"] = members.get("format") or known["format"]
    if is_loaded(name, str(known["format"])):
        queue_load(request, resource, file=stored, source=name)
    modified = now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return {"url": name, "url_type": URL_TYPE, "size": size, "last_modified": modified, **known}


def _keep_file(
    request: Request, resource: Resource, old: ResourceFile | None, members: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Keep the file of a resource that is changed without one, unless it has another address."""
    if members.get("url_type") == URL_TYPE:
        last_part = str(members.get("url") or "").rpartition("/")[2]
        return {"url": old.name if old else clean_file_name(last_part)}
    if old:
        old.delete()
    url, linked = str(members.get("url") or ""), {name.lower() for name in conf.LINKED_FORMATS}
    if url and not members.get("url_type") and str(members.get("format")).lower() in linked:
        newest = find_newest_load(resource)
        if newest is None or newest.url != url:
            with suppress(LoadFailed):  # what cannot be fetched remains a link
                queue_load(request, resource, url=url)
    return {}


def queue_load(request: Request, resource: Resource, **values: str) -> None:
    """
    Queue the load of a stored ``file`` with the name ``source``, or of a ``url``.

    As with CKAN's loaders, the fields are those of the new file.

    Raises: ``LoadFailed`` for a URL that is not valid.
    """
    options = LoadOptions(drop_missing_fields=True)
    enqueue_load(create_load(resource, options, user=request.user, **values))


def _forget_file(resource: Resource, stored: str) -> None:
    """Delete a file that has been replaced, and cancel its loads, unless one is published now."""
    loads = Load.objects.filter(resource=resource, file=stored)
    # A load that is being published holds its row, and waits for that of the resource.
    free = loads.select_for_update(skip_locked=True, no_key=True).exclude(state__in=FINISHED)
    cancel_loads(Load.objects.filter(pk__in=[load.pk for load in free]))
    loads.filter(state__in=FINISHED).update(file="")
    delete = Call(delete_unneeded_file, resource.pk, stored)
    transaction.on_commit(delete, using=router.db_for_write(ResourceFile), robust=True)


# What clients see ---------------------------------------------------------------------------------


def find_newest_load(resource: Resource) -> Load | None:
    loads = Load.objects.filter(resource=resource).exclude(state=LoadState.DRAFT)
    return loads.order_by("-created_at", "-pk").first()


def describe_load(request: Request, resource: Resource) -> Mapping[str, Any]:
    """
    Describe the newest load of a resource as ``datastore_load``: its ``state`` and ``error``.

    Only users who may change the resource see why it failed: the message may have values of a file
    that is not published.
    """
    load = find_newest_load(resource)
    if load is None:
        return {}
    return {"datastore_load": {"state": load.state, "error": read_error(request, load) or None}}


def read_error(request: Request, load: Load) -> str:
    return load.error if load.resource.permits(get_reader(request), "change") else ""


def build_file_address(
    addresses: ResourceAddresses, dataset_id: str, resource_id: uuid.UUID, name: str
) -> str:
    return addresses.build_file(dataset_id, resource_id, name)


def clean_up() -> Iterator[str]:
    """Delete files that no resource has: their request failed, or their resource is deleted."""
    known = set(ResourceFile.objects.values_list("file", flat=True))
    if deleted := delete_stray_files(FOLDER, known, timezone.now() - _STRAY):
        yield f"Deleted files of no resource: {deleted}."


store = UploadStore(receive_file, build_file_address, describe_load, lambda: conf.MAX_UPLOAD_BYTES)

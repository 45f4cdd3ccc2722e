"""
The files of resources: they are stored as they came, and loaded if they are tables.

Source: CKAN's uploads of resources, and ``munge_filename`` for their names; ckanext-xloader, which
loads an upload by its format; ``datapusher_submit`` of ckanext-datapusher and ``task_status_show``.
"""

from __future__ import annotations

import json
import mimetypes
import re
import secrets
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Answer, build_action, write_time
from ...api.authentication import check_may_read, check_may_write, get_reader
from ...api.new_resources import catalogue
from ...api.parameters import (
    ActionParameters,
    IgnoredField,
    ResourceIdField,
    ResourceParameters,
    TextField,
    make_printable,
)
from ...api.schemas import BOOLEAN
from ...api.uploads import UploadStore
from ...database.findings import Finding
from ...database.statements import Call, RowToLock, begin_write_transaction
from ...guards.folders import STRAY_AFTER, delete_stray_files, list_missing_files, store_file
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...models import Resource
from ...search import open_snapshot
from .conf import conf
from .formats import list_formats
from .jobs.cleanup import is_interrupted, mark_interrupted_loads
from .jobs.queue import cancel_loads, create_load, enqueue_load
from .messages import LoadFailed
from .models import FINISHED, UPLOADS_FOLDER, Load, LoadState, ResourceFile, delete_unneeded_file
from .types.options import LoadOptions

FOLDER: Final = f"{UPLOADS_FOLDER}/files"

#: The ``url_type`` of a resource with a file.
URL_TYPE: Final = "upload"

#: Source: CKAN, ``ckan.lib.munge``.
_MAX_NAME_LENGTH, _MIN_NAME_LENGTH, _MAX_SUFFIX_LENGTH = 100, 3, 21


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
    """Guess the format of a file, or of the packed one, by its name: ``CSV``; empty if unknown."""
    name, loaded = name.removesuffix(".gz"), _list_loaded()
    suffix = PurePath(name).suffix[1:]
    is_known = suffix in loaded or mimetypes.guess_type(name)[0]
    return loaded.get(suffix, suffix.upper()) if is_known else ""


def _list_loaded() -> dict[str, str]:
    """List the formats that are loaded, by their names in small letters."""
    names = (each.name for each in list_formats() if each.read and not each.unpack)
    return {name.lower(): name for some in names for name in some.split(", ")}


def is_loaded(name: str, format_name: str) -> bool:
    """Return whether a file is loaded: by the format of its resource, or else by its name."""
    named = format_name or guess_format(name)
    # The descriptor of a Data Package is JSON, and no table.
    return named.lower() in _list_loaded() and name != "datapackage.json"


def receive_file(
    request: Request, resource: Resource, file: UploadedFile | None, members: Mapping[str, Any]
) -> Mapping[str, Any]:
    """See ``UploadStore``; the file takes the place of the earlier one, whose loads it cancels."""
    old = ResourceFile.objects.filter(resource=resource).first()
    if file is None:
        return _keep_file(request, resource, old, members)
    name, now = clean_file_name(file.name or ""), timezone.now()
    stored = store_file(f"{FOLDER}/{secrets.token_urlsafe(24)}{PurePath(name).suffix}", file)
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
    modified = {"last_modified": write_time(now)}
    return {"url": name, "url_type": URL_TYPE, "size": size, **modified, **known}


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
    """Find the newest load; one whose process is gone has failed, though it is not marked yet."""
    loads = Load.objects.filter(resource=resource).exclude(state=LoadState.DRAFT)
    load = loads.order_by("-created_at", "-pk").first()
    if load is not None and is_interrupted(load):
        load.state, load.failure = LoadState.FAILED, LoadFailed("load.interrupted").to_json()
    return load


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


def clean_up() -> Iterator[str]:
    """Delete files that no resource has: their request failed, or their resource is deleted."""
    oldest = timezone.now() - STRAY_AFTER
    if deleted := delete_stray_files(FOLDER, ResourceFile.objects.all(), oldest):
        yield f"Deleted files of no resource: {deleted}."


def find_missing_files(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find the files of resources that are not in the storage, as after a restore without them."""
    files = list(ResourceFile.objects.using(connection.alias).order_by("name"))
    missing = list_missing_files(FOLDER, {str(each.file) for each in files})
    for file in files:
        if str(file.file) in missing:
            message = f"The published file {file.name} ({file.file}) is not in the storage."
            yield Finding("file.missing", str(file.resource_id), message)


store = UploadStore(receive_file, describe_load, lambda: conf.MAX_UPLOAD_BYTES)


#: The state of a task, by that of a load that is over; others are pending.
_STATES = {
    LoadState.READY: "complete",
    LoadState.UNCHANGED: "complete",
    LoadState.FAILED: "error",
    LoadState.CANCELLED: "error",
}


class SubmitParameters(ResourceParameters):
    force = IgnoredField(help_text=_("Has no effect."))
    set_url_type = IgnoredField(help_text=_("Has no effect."))
    ignore_hash = IgnoredField(help_text=_("Has no effect."))


@build_action(
    SubmitParameters,
    _("Load the file of a resource, or the table at its address."),
    is_writing=True,
    result=BOOLEAN,
)
def _datapusher_submit(request: Request, sent: Mapping[str, object]) -> Answer:
    name = SubmitParameters.get_name(SubmitParameters.parse(sent))
    resource = check_may_write(request, Resource.objects.named(name).first(), name)
    mark_interrupted_loads(Load.objects.filter(resource=resource))
    using = router.db_for_write(Resource)
    with begin_write_transaction(
        connections[using], RowToLock(Resource._meta.db_table, resource.pk)
    ):
        newest = find_newest_load(resource)
        if newest is not None and not newest.is_finished:
            return Answer(result=False)
        if stored := ResourceFile.objects.filter(resource=resource).first():
            queue_load(request, resource, file=str(stored.file), source=stored.name)
            return Answer(result=True)
        shown = catalogue.entry.show(request, resource)
        if shown.get("url_type") or not shown.get("url"):
            return Answer(result=False)
        try:
            queue_load(request, resource, url=shown["url"])
        except LoadFailed as failure:
            raise serializers.ValidationError({"url": [str(failure)]}) from failure
    return Answer(result=True)


class TaskParameters(ActionParameters):
    needed = ("entity_id",)

    entity_id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))
    task_type = TextField(help_text=_("`datapusher` or `xloader`."), shown_default="datapusher")
    key = TextField(help_text=_("Is returned."), shown_default="datapusher")


@build_action(TaskParameters, _("Describe the newest load of a resource as a task."))
def _task_status_show(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = TaskParameters.parse(sent)
    name = str(parameters["entity_id"])
    with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
        resource = Resource.objects.using(session.connection.alias).named(name).first()
        if resource is not None:
            check_may_read(request, resource, name)
            is_listed = resource.table_version_id or catalogue.entry.is_published(resource)
            if not (is_listed or resource.permits(get_reader(request), "change")):
                resource = None  # ``resource_show`` does not show it, either
        if resource is None or (load := find_newest_load(resource)) is None:
            raise UnknownResource(resource=make_printable(name))
    state, error = _STATES.get(LoadState(load.state), "pending"), read_error(request, load)
    moment = load.finished_at or load.heartbeat_at or load.started_at or load.created_at
    result = {
        "id": str(load.resource_id),
        "entity_id": str(load.resource_id),
        "entity_type": "resource",
        "task_type": parameters.get("task_type", "datapusher"),
        "key": parameters.get("key", "datapusher"),
        "value": json.dumps({"job_id": str(load.pk)}),
        "state": state,
        "error": json.dumps({"message": error} if error else {}),
        "last_updated": write_time(moment),
    }
    return Answer(result)


file_actions = _datapusher_submit, _task_status_show

"""
What CKAN's loaders of files answer: ``datapusher_submit`` and ``task_status_show``.

Source: ckanext-datapusher of CKAN 2.12, and CKAN's ``task_status_show``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db import connections, router
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Answer, build_action
from ...api.authentication import check_may_read, check_may_write
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
from ...database.statements import RowToLock, begin_write_transaction
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...models import Resource
from ...search import open_snapshot
from .messages.failures import LoadFailed
from .models import LoadState, ResourceFile
from .resource_files import find_newest_load, queue_load, read_error

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
        "last_updated": moment.replace(tzinfo=None).isoformat(timespec="microseconds"),
    }
    return Answer(result)


file_actions = _datapusher_submit, _task_status_show

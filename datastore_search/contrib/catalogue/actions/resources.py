"""
``resource_create``, ``resource_update`` and ``resource_patch``.

They change the metadata of a resource; ``datastore_create`` makes its table.

Source: CKAN's actions of these names.  A new resource is a dataset of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import connections, router
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ....api.actions.action import Action, Answer
from ....api.authentication import check_may_write, get_reader
from ....api.new_resources import (
    add_resource,
    read_resource_values,
    read_translations,
    refuse_other_members,
)
from ....api.parameters import make_printable
from ....database.statements import RowToLock, begin_write_transaction
from ....messages.access import UnknownResource
from ....models import Resource
from ....web.addresses import ResourceAddresses
from ..datasets import find_resource, open_readable_datasets
from ..descriptions import describe_resource
from ..models import get_metadata
from ..resource_members import ChangedMembers, NewMembers, read_metadata_values

# resource_create ----------------------------------------------------------------------------------


def _create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_write(request, Resource(), "", "add")
    return Answer(show_resource(request, add_resource(request, sent)))


# resource_update, resource_patch ------------------------------------------------------------------


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parameters = ChangedMembers.parse(sent)
    name, using = str(parameters["id"]), router.db_for_write(Resource)
    found = find_resource(Resource.objects, name)
    if found and not (found.table_version_id or found.permits(get_reader(request), "change")):
        found = None  # as in ``resource_show``
    known = check_may_write(request, found, name)
    row = RowToLock(Resource._meta.db_table, known.pk)
    with begin_write_transaction(connections[using], row) as is_found:
        resource = find_resource(Resource.objects, str(known.pk)) if is_found else None
        if resource is None:
            raise UnknownResource(resource=make_printable(name))
        shown = show_resource(request, resource)
        # Two times that were the same, and the address of the dump in another language, were shown.
        accepted = ChangedMembers.list_stored(sent) | _OF_PUSHERS
        if sent.get(_TIMES[0]) == sent.get(_TIMES[1]):
            accepted.update(_TIMES)
        if str(sent.get("url", "")).endswith(f"/{resource.pk}"):
            accepted.add("url")
        refuse_other_members(sent, shown, accepted)
        values = _select_changes(resource, sent, parameters, is_complete=is_complete)
        for column, value in values.items():
            setattr(resource, column, value)
        if values:
            resource.save(using=using, update_fields=[*values, "modified_at"])
        store_metadata(resource, sent, parameters, is_complete=is_complete)
    return Answer(show_resource(request, resource))


#: What pushers send as it was shown some time ago, or with their own values.
_OF_PUSHERS = frozenset({"datastore_active", "force", "hash", "url_type"})
_TIMES = ("last_modified", "metadata_modified")


def store_metadata(
    resource: Resource,
    sent: Mapping[str, object],
    parsed: Mapping[str, Any],
    *,
    is_complete: bool = False,
) -> None:
    """Store the metadata that differ; the resource then has another version."""
    row = get_metadata(resource)
    values = read_metadata_values(sent, parsed, is_complete=is_complete)
    if parsed.get("url") and not values.get("source"):
        values["source"] = parsed["url"]
    changes = {name: value for name, value in values.items() if value != getattr(row, name)}
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        using = router.db_for_write(Resource)
        row.save(using=using)
        resource.refresh_from_db(using, ["modified_at", "version"])


def _select_changes(
    resource: Resource,
    sent: Mapping[str, object],
    parameters: Mapping[str, Any],
    *,
    is_complete: bool,
) -> dict[str, Any]:
    """Select the columns of which a client sends another value than it has been shown."""
    values = read_resource_values(sent, parameters, is_complete=is_complete)
    if "private" in parameters:
        values["private"] = parameters["private"]
    values["translations"] = {**resource.translations}
    for language, texts in read_translations(sent).items():
        values["translations"][language] = {**resource.translations.get(language, {}), **texts}
    # What was shown may be a translation, or the name in place of a title.
    shown = {"title": resource.local_title.text, "description": resource.local_description.text}
    return {
        column: value
        for column, value in values.items()
        if value != getattr(resource, column) and (column not in shown or value != shown[column])
    }


def show_resource(request: Request, resource: Resource) -> dict[str, Any]:
    using = router.db_for_write(Resource)
    places = open_readable_datasets(using, get_reader(request)).locate([resource])
    return describe_resource(resource, ResourceAddresses(request), places[resource.pk])


resource_actions = (
    Action(
        "resource_create",
        NewMembers,
        _create,
        _("Create a resource without records, and its dataset."),
        is_writing=True,
    ),
    Action(
        "resource_update",
        ChangedMembers,
        partial(_change, is_complete=True),
        _("Replace the description of a resource: members that are not sent are emptied."),
        is_writing=True,
    ),
    Action(
        "resource_patch",
        ChangedMembers,
        partial(_change, is_complete=False),
        _("Change the description of a resource: members that are not sent stay."),
        is_writing=True,
    ),
)

"""
``resource_create``, ``resource_update`` and ``resource_patch``.

They change the metadata of a resource; ``datastore_create`` makes its table.

Source: CKAN's actions of these names.  Each resource is a dataset of its own here, so a new one
makes its dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import connections, router
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ....api.actions.action import Action, Answer
from ....api.new_resources import add_resource, get_resources
from ....api.parameters import make_printable
from ....api.permissions import check_may_write, get_reader
from ....api.resource_parameters import (
    ChangedResourceMembers,
    NewResourceMembers,
    read_resource_values,
    read_translations,
    refuse_other_members,
)
from ....database.writes import RowToLock, begin_write_transaction
from ....messages.access import UnknownResource
from ....models import Resource
from ....web.addresses import ResourceAddresses
from ..datasets import find_resource
from ..descriptions import describe_resource
from ..portal import find_place
from .datasets import find_visible_resource

# resource_create ----------------------------------------------------------------------------------


def _create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_write(request, Resource(), "", "add")
    return Answer(show_resource(request, add_resource(request, sent)))


# resource_update, resource_patch ------------------------------------------------------------------


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parameters = ChangedResourceMembers.parse(sent)
    name, using = str(parameters["id"]), router.db_for_write(Resource)
    known = find_visible_resource(request, get_resources(), name)
    check_may_write(request, known, name)
    row = RowToLock(Resource._meta.db_table, known.pk)
    with begin_write_transaction(connections[using], row) as is_found:
        resource = find_resource(get_resources(), str(known.pk)) if is_found else None
        if resource is None:
            raise UnknownResource(resource=make_printable(name))
        refuse_other_members(sent, show_resource(request, resource), resource)
        values = _select_changes(resource, sent, parameters, is_complete=is_complete)
        for column, value in values.items():
            setattr(resource, column, value)
        if values:
            resource.save(using=using, update_fields=[*values, "modified_at"])
    return Answer(show_resource(request, resource))


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
    """Describe a resource as ``resource_show`` does."""
    using = router.db_for_write(Resource)
    place = find_place(using, get_reader(request), resource.pk)
    return describe_resource(resource, ResourceAddresses(request), place)


resource_actions = (
    Action(
        "resource_create",
        NewResourceMembers,
        _create,
        _("Create a resource without records, and its dataset."),
        is_writing=True,
    ),
    Action(
        "resource_update",
        ChangedResourceMembers,
        partial(_change, is_complete=True),
        _("Replace the description of a resource: members that are not sent are emptied."),
        is_writing=True,
    ),
    Action(
        "resource_patch",
        ChangedResourceMembers,
        partial(_change, is_complete=False),
        _("Change the description of a resource: members that are not sent stay."),
        is_writing=True,
    ),
)

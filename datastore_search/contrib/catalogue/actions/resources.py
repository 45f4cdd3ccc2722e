"""
``resource_create``, ``resource_update`` and ``resource_patch``.

They change the metadata of a resource; ``datastore_create`` makes its table.

Source: CKAN's actions of these names.  Each resource is a dataset of its own here, so a new one
makes its dataset.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, router, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from datastore_search.contrib import catalogue
from datastore_search import database as storage
from datastore_search.messages.access import UnknownResource
from datastore_search.messages.writing import InvalidDatasetName, InvalidResource, TakenDatasetName
from datastore_search.models import Resource, ResourceQuerySet, parse_resource_id
from datastore_search.api.parameters import make_printable
from datastore_search.api.permissions import check_may_write, get_reader
from datastore_search.api.resource_parameters import ChangedResourceMembers, NewResourceMembers, read_resource_values, read_translations, refuse_other_members
from datastore_search.api.actions.action import Action, Answer
from .datasets import build_addresses


def get_resources() -> ResourceQuerySet:
    """Read from the database that is written to; a replica may lag behind."""
    return Resource.objects.using(router.db_for_write(Resource))


# resource_create ----------------------------------------------------------------------------------


def _create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_write(request, Resource(), "", "add")
    return Answer(_show(request, add_resource(request, sent)))


def add_resource(
    request: Request, sent: Mapping[str, object], *, private: bool = False
) -> Resource:
    """
    Add the resource that the members describe; its name is the id, unless they name a dataset.

    Raises: ``ValidationError``; ``InvalidResource``; ``InvalidDatasetName``; ``TakenDatasetName``;
    ``WriteBlocked``.
    """
    parameters = NewResourceMembers.parse(sent)
    name = str(parameters.get("package_id", ""))
    resource = Resource(
        pk=read_new_id(parameters.get("id") or parse_resource_id(name)),
        private=private or parameters.get("private", False),
        translations=read_translations(sent),
        **read_resource_values(sent, parameters),
    )
    resource.source = resource.source or parameters.get("url", "")
    resource.name = _check_name(request, name) if name else str(resource.pk)
    refuse_other_members(sent, _show(request, resource))
    using = router.db_for_write(Resource)
    with storage.begin_write_transaction(connections[using]):
        try:
            with transaction.atomic(using=using):
                resource.save(force_insert=True, using=using)
        except IntegrityError as error:  # another request has added it just now
            raise TakenDatasetName(name=resource.name) from error
    return resource


def read_new_id(sent: object) -> uuid.UUID:
    """
    Read the id of a new resource, or choose one.

    Raises: ``InvalidResource`` if it is not a UUID, or another resource has it as its id or name.
    """
    if sent is None:
        return uuid.uuid4()
    resource_id = parse_resource_id(str(sent)) if isinstance(sent, str | uuid.UUID) else None
    if resource_id is None:
        raise InvalidResource(reason=_("“id” must be a UUID."), parameter="id")
    if get_resources().known_as(str(resource_id)).exists():
        raise InvalidResource(reason=_("A resource with this id already exists."), parameter="id")
    return resource_id


def _check_name(request: Request, name: str) -> str:
    """Check the name of a new dataset."""
    try:
        Resource.name.field.clean(name, None)
    except ValidationError as error:
        raise InvalidDatasetName(name=make_printable(name)) from error
    is_taken = get_resources().known_as(name).exists()
    if is_taken or catalogue.has_portal_dataset(get_reader(request), name):
        raise TakenDatasetName(name=name)
    return name


# resource_update, resource_patch ------------------------------------------------------------------


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parameters = ChangedResourceMembers.parse(sent)
    name, using = str(parameters["id"]), router.db_for_write(Resource)
    known = catalogue.find_resource(get_resources(), name)
    if known is None or not (
        known.table_version_id or known.permits(get_reader(request), "change")
    ):
        raise UnknownResource(resource=make_printable(name))
    check_may_write(request, known, name)
    row = storage.RowToLock(Resource._meta.db_table, known.pk)  # noqa: SLF001 - Django's public name for it
    with storage.begin_write_transaction(connections[using], row) as is_found:
        resource = catalogue.find_resource(get_resources(), str(known.pk)) if is_found else None
        if resource is None:
            raise UnknownResource(resource=make_printable(name))
        refuse_other_members(sent, _show(request, resource), resource)
        values = _select_changes(resource, sent, parameters, is_complete=is_complete)
        for column, value in values.items():
            setattr(resource, column, value)
        if values:
            resource.save(using=using, update_fields=[*values, "modified_at"])
    return Answer(_show(request, resource))


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


def _show(request: Request, resource: Resource) -> dict[str, Any]:
    using = router.db_for_write(Resource)
    place = catalogue.find_place(using, get_reader(request), resource.pk)
    return catalogue.describe_resource(resource, build_addresses(request), place)


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

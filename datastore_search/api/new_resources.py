"""
Add a resource, as ``datastore_create`` does, and ``resource_create`` where there is a catalogue.

Source: CKAN ``resource_create``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, router, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ..contributions import Hook
from ..database.writes import begin_write_transaction
from ..messages.writing import InvalidDatasetName, InvalidResource, TakenDatasetName
from ..models import Resource, ResourceQuerySet, parse_resource_id
from .parameters import make_printable
from .resource_parameters import (
    NewResourceMembers,
    read_resource_values,
    read_translations,
    refuse_other_members,
)


@dataclass(frozen=True)
class CatalogueOfResources:
    """
    What a catalogue knows of resources.

    ``members`` are those of a new resource, ``show`` gives a resource as ``resource_show`` does,
    ``store`` stores what a new resource has no columns for, out of the members that were sent and
    parsed, and ``has_name`` says whether a dataset of several resources has a name or an id.
    """

    members: type[NewResourceMembers] = NewResourceMembers
    show: Callable[[Request, Resource], Mapping[str, Any]] = lambda _request, _resource: {}
    store: Callable[[Resource, Mapping[str, object], Mapping[str, Any]], None] = (
        lambda _resource, _sent, _parsed: None
    )
    has_name: Callable[[str], bool] = lambda _name: False


catalogue = Hook("catalogue of resources", CatalogueOfResources())


def get_resources() -> ResourceQuerySet:
    """Read from the database that is written to; a replica may lag behind."""
    return Resource.objects.using(router.db_for_write(Resource))


def add_resource(
    request: Request, sent: Mapping[str, object], *, private: bool = False
) -> Resource:
    """
    Add the resource that the members describe; its name is the id, unless they name a dataset.

    Raises: ``ValidationError``; ``InvalidResource``; ``InvalidDatasetName``; ``TakenDatasetName``;
    ``WriteBlocked``.
    """
    parameters = catalogue.entry.members.parse(sent)
    name = str(parameters.get("package_id", ""))
    resource = Resource(
        pk=read_new_id(parameters.get("id") or parse_resource_id(name)),
        private=private or parameters.get("private", False),
        translations=read_translations(sent),
        **read_resource_values(sent, parameters),
    )
    resource.name = _check_name(name) if name else str(resource.pk)
    shown = catalogue.entry.show(request, resource)
    refuse_other_members(sent, shown, catalogue.entry.members.list_stored(sent))
    using = router.db_for_write(Resource)
    with begin_write_transaction(connections[using]):
        try:
            with transaction.atomic(using=using):
                resource.save(force_insert=True, using=using)
                catalogue.entry.store(resource, sent, parameters)
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
    name = str(resource_id)
    if get_resources().known_as(name).exists() or catalogue.entry.has_name(name):
        raise InvalidResource(reason=_("A resource with this id already exists."), parameter="id")
    return resource_id


def _check_name(name: str) -> str:
    """Check the name of a new dataset."""
    try:
        Resource.name.field.clean(name, None)
    except ValidationError as error:
        raise InvalidDatasetName(name=make_printable(name)) from error
    if get_resources().known_as(name).exists() or catalogue.entry.has_name(name):
        raise TakenDatasetName(name=name)
    return name

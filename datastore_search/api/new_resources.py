"""
Add a resource, as ``datastore_create`` does, and ``resource_create`` where there is a catalogue.

Source: CKAN ``resource_create``.  It stores members that it does not know.  Here only a catalogue
does, for resources of a published dataset; others are refused, unless their values are those that
``resource_show`` gives, as clients send back all of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, router, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ..contributions import Hook
from ..database.statements import begin_write_transaction
from ..field_types import NotOfType, copy_json, is_storable
from ..messages.writing import InvalidDatasetName, InvalidResource, TakenDatasetName
from ..models import (
    MAX_TITLE_LENGTH,
    Resource,
    Translations,
    has_dataset,
    parse_resource_id,
    split_translations,
    validate_content_language,
)
from .authentication import check_may_write
from .envelope import MAX_REPORTED_ERRORS
from .parameters import (
    ActionParameters,
    BooleanField,
    ParameterField,
    ResourceIdField,
    make_printable,
)
from .uploads import get_upload

# The members that clients send, alone or in ``datastore_create`` ----------------------------------

#: The texts of a resource, as its members.
TEXTS: Mapping[str, str] = {"name": "title", "description": "description"}


class WordsField(ParameterField):
    """A text of any length, which may be cut; numbers become text."""

    def __init__(self, *, cut_at: int | None = None, **options: Any) -> None:
        self.cut_at = cut_at
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        return str(data)[: self.cut_at]


class LanguageField(WordsField):
    """The code of a language, in any spelling."""

    default_error_messages = {"code": _("Must be the code of a language.")}

    def to_internal_value(self, data: object) -> str:
        language = super().to_internal_value(data).replace("_", "-").lower()
        try:
            validate_content_language(language)
        except ValidationError:
            self.fail("code")
        return language


class ResourceMembers(ActionParameters):
    """The members that describe a resource; ``refuse_other_members`` checks the others."""

    accepts_others = True

    @classmethod
    def list_stored(cls, _sent: Mapping[str, object], /) -> set[str]:
        return {*cls.get_declared()}

    name = WordsField(cut_at=MAX_TITLE_LENGTH, help_text=_("The title, cut at 300 letters."))
    description = WordsField(help_text=_("The description."))
    content_language = LanguageField(
        help_text=_("The language of `name` and `description`, as a code such as `vi`.")
    )


class NewResourceMembers(ResourceMembers):
    """The members of ``resource_create``, and of ``resource`` in ``datastore_create``."""

    id = ResourceIdField(help_text=_("A UUID; chosen if not given."))
    package_id = ResourceIdField(
        help_text=_(
            "The id or the name of the dataset that the resource is added to. If not given, the"
            " resource is a dataset of its own."
        )
    )
    private = BooleanField(
        help_text=_("Whether only users with the permission may read the resource."),
        shown_default="false",
    )


def read_resource_values(
    sent: Mapping[str, object], parsed: Mapping[str, Any], *, is_complete: bool = False
) -> dict[str, Any]:
    """
    Read the values of a resource's columns out of the members that were sent, and parsed.

    A member without a value empties its column.  If the members are complete, so does a
    description that was not sent; the title and its language stay.

    Source: CKAN ``resource_update``, which keeps the name that was not sent.
    """
    names = [name for name in ResourceMembers.get_declared() if name in sent]
    if is_complete and "description" not in names:
        names.append("description")
    return {TEXTS.get(name, name): parsed.get(name, "") for name in names}


def read_translations(sent: Mapping[str, Any]) -> Translations:
    """Read members such as ``name_fr``.  Raises: ``ValidationError``."""
    translations, _others = split_translations(sent, TEXTS, "_")
    if not is_storable(translations):
        message = ActionParameters.default_error_messages["character"]
        raise serializers.ValidationError({"__extras": [message]})
    return translations


def copy_members(
    sent: Mapping[str, Any], left_out: Collection[str], max_bytes: int
) -> dict[str, Any]:
    """
    Copy members that no column holds, as JSON that PostgreSQL can store.

    Raises: ``ValidationError``.
    """
    members = {name: value for name, value in sent.items() if name not in left_out}
    try:
        copied: dict[str, Any] = copy_json(members, max_bytes)
    except NotOfType as error:
        message = _("Other members must be JSON of at most %(most)s bytes, without NUL.")
        raise serializers.ValidationError({"__extras": [message % {"most": max_bytes}]}) from error
    return copied


def refuse_other_members(
    sent: Mapping[str, Any], shown: Mapping[str, Any], stored: Collection[str]
) -> None:
    """
    Refuse members that are not ``stored``, unless they are empty or as they are ``shown``.

    Raises: ``ValidationError``.
    """
    others = split_translations(sent, TEXTS, "_")[1]
    refused = [
        name
        for name, value in others.items()
        if name not in stored
        and value not in (None, "", [], {})
        and str(value).casefold() != str(shown.get(name)).casefold()
    ]
    if refused:
        raise serializers.ValidationError(
            {
                make_printable(name): [_("This cannot be set: leave it out.")]
                for name in refused[:MAX_REPORTED_ERRORS]
            }
        )


# Adding -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CatalogueOfResources:
    """
    What a catalogue knows of resources.

    ``members`` are those of a new resource, ``show`` gives a resource as ``resource_show`` does,
    ``find_dataset`` finds and locks the dataset that a new resource is added to, ``place`` puts it
    there, ``store`` stores what it has no columns for, out of the members that were sent and
    parsed, ``check_may_add`` refuses a user who may not add the resource that the members describe,
    and ``is_published`` says whether a resource is part of a published dataset, which decides
    whether it is private.
    """

    members: type[NewResourceMembers] = NewResourceMembers
    show: Callable[[Request, Resource], Mapping[str, Any]] = lambda _request, _resource: {}
    find_dataset: Callable[[Request, str], Any] = lambda _request, _name: None
    place: Callable[[Resource, Any], None] = lambda _resource, _dataset: None
    store: Callable[[Request, Resource, Mapping[str, object], Mapping[str, Any]], None] = (
        lambda _request, _resource, _sent, _parsed: None
    )
    check_may_add: Callable[[Request, Mapping[str, Any]], object] = lambda request, _sent: (
        check_may_write(request, Resource(), "", "add")
    )
    is_published: Callable[[Resource], bool] = lambda _resource: False


catalogue = Hook("catalogue of resources", CatalogueOfResources())


def add_resource(
    request: Request, sent: Mapping[str, object], *, private: bool = False, dataset: Any = None
) -> Resource:
    """
    Add the resource that the members describe, perhaps to a ``dataset`` or the one that they name.

    Its name is the id; without a catalogue, ``package_id`` is the name.

    Raises: ``ValidationError``; ``InvalidResource``; ``InvalidDatasetName``; ``TakenDatasetName``;
    ``UnknownResource`` for a dataset; ``AccessDenied``; ``WriteBlocked``.
    """
    parameters = catalogue.entry.members.parse(sent)
    name, using = str(parameters.get("package_id", "")), router.db_for_write(Resource)
    with begin_write_transaction(connections[using]):
        if name and dataset is None:
            dataset = catalogue.entry.find_dataset(request, name)
        resource = Resource(
            pk=read_new_id(parameters.get("id") or (not dataset and parse_resource_id(name))),
            private=dataset.is_hidden if dataset else private or parameters.get("private", False),
            translations=read_translations(sent),
            **read_resource_values(sent, parameters),
        )
        resource.name = str(resource.pk) if dataset else name or str(resource.pk)
        if name and not dataset:
            try:
                Resource.name.field.clean(name, None)
            except ValidationError as error:
                raise InvalidDatasetName(name=make_printable(name)) from error
            if Resource.objects.known_as(name).exists():
                raise TakenDatasetName(name=name)
        if not (dataset or get_upload(sent)):
            shown = catalogue.entry.show(request, resource)
            refuse_other_members(sent, shown, catalogue.entry.members.list_stored(sent))
        try:
            with transaction.atomic(using=using):
                resource.save(force_insert=True, using=using)
        except IntegrityError as error:  # another request has added it just now
            raise TakenDatasetName(name=resource.name) from error
        if dataset:
            catalogue.entry.place(resource, dataset)
        catalogue.entry.store(request, resource, sent, parameters)
    return resource


def read_new_id(sent: object) -> uuid.UUID:
    """
    Read the id of a new resource, or choose one.

    Raises: ``InvalidResource`` if it is not a UUID, or another resource has it as its id or name.
    """
    if not sent:
        return uuid.uuid4()
    resource_id = parse_resource_id(str(sent)) if isinstance(sent, str | uuid.UUID) else None
    if resource_id is None:
        raise InvalidResource(reason=_("“id” must be a UUID."), parameter="id")
    name = str(resource_id)
    if Resource.objects.known_as(name).exists() or has_dataset.entry(name, resource_id):
        raise InvalidResource(reason=_("A resource with this id already exists."), parameter="id")
    return resource_id

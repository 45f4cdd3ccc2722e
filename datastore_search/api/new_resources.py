"""
Add a resource, as ``datastore_create`` does, and ``resource_create`` where there is a catalogue.

Source: CKAN ``resource_create``.  It stores members that it does not know; here they are refused,
unless their values are those that ``resource_show`` gives, as clients send back all of them.
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
from ..messages.writing import InvalidDatasetName, InvalidResource, TakenDatasetName
from ..models import (
    MAX_TITLE_LENGTH,
    Resource,
    Translations,
    parse_resource_id,
    split_translations,
    validate_content_language,
)
from .envelope import MAX_REPORTED_ERRORS
from .parameters import (
    ActionParameters,
    BooleanField,
    ParameterField,
    ResourceIdField,
    make_printable,
)

# The members that clients send, alone or in ``datastore_create`` ----------------------------------

#: The texts of a resource, as its members.
TEXTS: Mapping[str, str] = {"name": "title", "description": "description"}


class WordsField(ParameterField):
    """A text of any length, which may be cut; numbers become text."""

    default_error_messages = {"invalid": _("Must be text.")}

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
            "The name of the new dataset, for addresses: letters, digits, `-` and `_`. The id if"
            " not given. A dataset that exists is refused."
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
    """Read members such as ``name_fr``."""
    return split_translations(sent, TEXTS, "_")[0]


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
    resource.name = name or str(resource.pk)
    if name:
        try:
            Resource.name.field.clean(name, None)
        except ValidationError as error:
            raise InvalidDatasetName(name=make_printable(name)) from error
        if Resource.objects.known_as(name).exists() or catalogue.entry.has_name(name):
            raise TakenDatasetName(name=name)
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
    if Resource.objects.known_as(name).exists() or catalogue.entry.has_name(name):
        raise InvalidResource(reason=_("A resource with this id already exists."), parameter="id")
    return resource_id

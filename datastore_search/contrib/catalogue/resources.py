"""
``resource_create``, ``resource_update`` and ``resource_patch``, and the metadata that they take.

They change the metadata of a resource; ``datastore_create`` makes its table.

Source: CKAN's actions of these names.  A new resource is a dataset of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.exceptions import ValidationError
from django.db import connections, router
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.authentication import check_may_write, get_reader
from ...api.new_resources import (
    NewResourceMembers,
    ResourceMembers,
    add_resource,
    read_resource_values,
    read_translations,
    refuse_other_members,
)
from ...api.parameters import (
    BooleanField,
    ParameterField,
    ResourceIdField,
    make_printable,
    parse_json,
)
from ...database.statements import RowToLock, begin_write_transaction
from ...messages.access import UnknownResource
from ...messages.requests import MalformedJson
from ...models import Resource
from ...web.addresses import ResourceAddresses
from .datasets import find_resource, open_readable_datasets
from .descriptions import METADATA, describe_resource, get_metadata_field
from .models import MAX_TAGS, get_metadata


class MetadataField(ParameterField):
    """A text that the model's field of this name checks; an empty one means no value."""

    default_error_messages = {"invalid": _("Must be text.")}

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        super().__init__(**options)

    limit_text = _("At most {most} characters.")

    def get_limit(self) -> int | None:
        most: int | None = get_metadata_field(self.name).max_length
        return most

    def to_internal_value(self, data: object) -> Any:
        field = get_metadata_field(self.name)
        try:
            value = self.clean(data)
            return field.clean(value, None) if value else field.get_default()
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from error

    def clean(self, data: object) -> Any:
        """Check the kind: a field of Django's reads JSON out of a text, and fails on a number."""
        if not isinstance(data, str):
            self.fail("invalid")
        return data.strip()


class TagsField(MetadataField):
    json_schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_TAGS}
    default_error_messages = {"invalid": _("Must be a list of texts.")}

    def describe_limit(self) -> str:
        field: Any = get_metadata_field(self.name)
        most, length = field.size, field.base_field.max_length
        return str(_("At most {most} texts of {length} characters.")).format(
            most=most, length=length
        )

    def clean(self, data: object) -> list[str]:
        if isinstance(data, str) and data.lstrip()[:1] == "[":
            with suppress(MalformedJson):
                data = parse_json(data)
        if data == "":
            return []
        if not isinstance(data, list) or not all(isinstance(each, str) for each in data):
            self.fail("invalid")
        ArrayMaxLengthValidator(MAX_TAGS)(data)  # empty texts count, too
        return list(dict.fromkeys(text for text in map(str.strip, data) if text))


# Members ------------------------------------------------------------------------------------------


class MetadataMembers(ResourceMembers):
    vars().update(
        {
            name: (TagsField if name == "tags" else MetadataField)(name, help_text=text)
            for name, text in METADATA.items()
        }
    )


class NewMembers(MetadataMembers, NewResourceMembers):
    url = MetadataField("source", help_text=_("The `source`, if that is not given."))

    @classmethod
    def list_stored(cls, sent: Mapping[str, object], /) -> set[str]:
        """List all members; a ``url`` is not stored if there is another ``source``."""
        has_both = sent.get("source") not in (None, "", sent.get("url"))
        return super().list_stored(sent) - ({"url"} if has_both else set())


class ChangedMembers(MetadataMembers):
    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, "
            "this is not changed."
        )
    )


# resource_create ----------------------------------------------------------------------------------


def _create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_write(request, Resource(), "", "add")
    return Answer(show_resource(request, add_resource(request, sent)))


# resource_update, resource_patch ------------------------------------------------------------------


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parameters = ChangedMembers.parse(sent)
    name, using = str(parameters["id"]), router.db_for_write(Resource)
    found = find_resource(Resource.objects.all(), name)
    if found and not (found.table_version_id or found.permits(get_reader(request), "change")):
        found = None  # as in ``resource_show``
    known = check_may_write(request, found, name)
    row = RowToLock(Resource._meta.db_table, known.pk)
    with begin_write_transaction(connections[using], row) as is_found:
        resource = find_resource(Resource.objects.all(), str(known.pk)) if is_found else None
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
        values = read_resource_values(sent, parameters, is_complete=is_complete)
        if "private" in parameters:
            values["private"] = parameters["private"]
        values["translations"] = {**resource.translations}
        for language, texts in read_translations(sent).items():
            values["translations"][language] = {**resource.translations.get(language, {}), **texts}
        # What was shown may be a translation, or the name in place of a title.
        local = {"title": resource.local_title.text, "description": resource.local_description.text}
        values = {
            column: value
            for column, value in values.items()
            if value != getattr(resource, column)
            and (column not in local or value != local[column])
        }
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
    """
    Store the metadata that differ; the resource then has another version.

    A member without a value empties its field; if the members are complete, so does one that was
    not sent.
    """
    row = get_metadata(resource)
    values = {
        name: parsed.get(name, get_metadata_field(name).get_default())
        for name in METADATA
        if is_complete or name in sent
    }
    if parsed.get("url") and not values.get("source"):
        values["source"] = parsed["url"]
    changes = {name: value for name, value in values.items() if value != getattr(row, name)}
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        using = router.db_for_write(Resource)
        row.save(using=using)
        resource.refresh_from_db(using, ["modified_at", "version"])


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

"""
The members of a resource that are its metadata: licence, source, publisher, coverage.

Source: CKAN's ``resource_create``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ...api.new_resources import NewResourceMembers, ResourceMembers
from ...api.parameters import BooleanField, ParameterField, ResourceIdField, parse_json
from ...messages.requests import MalformedJson
from .models import MAX_TAGS, Dataset

#: Each field of ``Dataset`` that resources have, too, with its help for clients.
METADATA: Final[Mapping[str, str | Promise]] = {
    "license": _("An SPDX id such as `CC-BY-4.0`, or the address of the licence."),
    "source": _("Where the data come from: an address, or a text."),
    "publisher": _("Who publishes the data."),
    "contact": _("A person or an office that answers questions."),
    "contact_email": _("The e-mail of the contact."),
    "tags": _("Keywords of the resource."),
    "temporal_start": _("The first day covered, such as `2024-01-31`."),
    "temporal_end": _("The last day covered."),
    "spatial": _("The name of the area covered."),
    "frequency": _("How often the data change, such as `monthly`."),
    "version_date": _("The day that the data describe."),
}


def get_metadata_field(name: str) -> models.Field[Any, Any]:
    return cast("models.Field[Any, Any]", getattr(Dataset, name).field)


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
        """Check the value as the model's field does, and convert it."""
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
    """A list of texts, or the JSON text of one."""

    json_schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_TAGS}
    default_error_messages = {"invalid": _("Must be a list of texts.")}

    def describe_limit(self) -> str:
        field: Any = get_metadata_field(self.name)
        most, length = field.size, field.base_field.max_length
        return str(_("At most {most} texts of {length} characters.")).format(
            most=most, length=length
        )

    def clean(self, data: object) -> list[str]:
        """Parse the JSON text of a list; other texts are refused."""
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
    """The members of ``resource_create``, and of ``resource`` in ``datastore_create``."""

    url = MetadataField("source", help_text=_("The `source`, if that is not given."))

    @classmethod
    def list_stored(cls, sent: Mapping[str, object], /) -> set[str]:
        """List all members; a ``url`` is not stored if there is another ``source``."""
        has_both = sent.get("source") not in (None, "", sent.get("url"))
        return super().list_stored(sent) - ({"url"} if has_both else set())


class ChangedMembers(MetadataMembers):
    """The members of ``resource_update`` and ``resource_patch``."""

    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, "
            "this is not changed."
        )
    )


def read_metadata_values(
    sent: Mapping[str, object], parsed: Mapping[str, Any], *, is_complete: bool = False
) -> dict[str, Any]:
    """
    Read the metadata out of the members that were sent, and parsed.

    A member without a value empties its field; if the members are complete, so does one that was
    not sent.
    """
    return {
        name: parsed.get(name, get_metadata_field(name).get_default())
        for name in METADATA
        if is_complete or name in sent
    }

"""
The members of a resource that clients send, alone or in ``datastore_create``.

Source: CKAN's ``resource_create``.  It stores members that it does not know; here they are refused,
unless their values are those that ``resource_show`` gives, as clients send back all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..messages.requests import MalformedJson
from ..models import (
    MAX_TAGS,
    MAX_TITLE_LENGTH,
    METADATA,
    Resource,
    Translations,
    clean_metadata,
    get_metadata_field,
    split_translations,
    validate_content_language,
)
from .body import parse_json
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import BooleanField, ParameterField, ResourceIdField
from .parameters import ActionParameters, make_printable

#: The texts of a resource, as its members.
TEXTS: Mapping[str, str] = {"name": "title", "description": "description"}


class WordsField(ParameterField):
    """A text of any length; numbers become text."""

    default_error_messages = {"invalid": _("Must be text.")}

    def to_internal_value(self, data: object) -> str:
        """Make a text of the value."""
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        return str(data)


class TitleField(WordsField):
    """A title, which is cut."""

    def to_internal_value(self, data: object) -> str:
        """Cut the text."""
        return super().to_internal_value(data)[:MAX_TITLE_LENGTH]


class LanguageField(WordsField):
    """The code of a language, in any spelling."""

    default_error_messages = {"code": _("Must be the code of a language.")}

    def to_internal_value(self, data: object) -> str:
        """Spell the code as Django does, and check it."""
        language = super().to_internal_value(data).replace("_", "-").lower()
        try:
            validate_content_language(language)
        except ValidationError:
            self.fail("code")
        return language


class MetadataField(ParameterField):
    """A text that the model's field of this name checks."""

    def __init__(self, name: str, **options: Any) -> None:
        """``name`` is the name of the model field."""
        self.name = name
        super().__init__(**options)

    limit_text = _("At most {most} characters.")

    def get_limit(self) -> int | None:
        """Get the limit of the model's field."""
        most: int | None = get_metadata_field(self.name).max_length
        return most

    def to_internal_value(self, data: object) -> Any:
        """Check the value as the model's field does."""
        try:
            return clean_metadata(self.name, data)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from error


class TagsField(MetadataField):
    """A list of texts, or the JSON text of one."""

    json_schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_TAGS}

    def describe_limit(self) -> str:
        """Describe the limits of the list and of its texts."""
        field: Any = get_metadata_field(self.name)
        most, length = field.size, field.base_field.max_length
        return str(_("At most {most} texts of {length} characters.")).format(
            most=most, length=length
        )

    def to_internal_value(self, data: object) -> Any:
        """Parse the JSON text of a list; other texts are refused."""
        if isinstance(data, str) and data.lstrip()[:1] == "[":
            with suppress(MalformedJson):
                data = parse_json(data)
        return super().to_internal_value(data)


class ResourceMembers(ActionParameters):
    """The members that describe a resource; ``refuse_other_members`` checks the others."""

    accepts_others = True

    name = TitleField(help_text=_("The title, cut at 300 letters."))
    description = WordsField(help_text=_("The description."))
    content_language = LanguageField(
        help_text=_("The language of `name` and `description`, as a code such as `vi`.")
    )
    license = MetadataField(
        "license", help_text=_("An SPDX id such as `CC-BY-4.0`, or the address of the licence.")
    )
    # A serializer's field has a `source`.
    vars()["source"] = MetadataField(
        "source", help_text=_("Where the data come from: an address, or a text.")
    )
    publisher = MetadataField("publisher", help_text=_("Who publishes the data."))
    contact = MetadataField("contact", help_text=_("A person or an office that answers questions."))
    contact_email = MetadataField("contact_email", help_text=_("The e-mail of the contact."))
    tags = TagsField("tags", help_text=_("Keywords of the resource."))
    temporal_start = MetadataField(
        "temporal_start", help_text=_("The first day covered, such as `2024-01-31`.")
    )
    temporal_end = MetadataField("temporal_end", help_text=_("The last day covered."))
    spatial = MetadataField("spatial", help_text=_("The name of the area covered."))
    frequency = MetadataField(
        "frequency", help_text=_("How often the data change, such as `monthly`.")
    )
    version_date = MetadataField("version_date", help_text=_("The day that the data describe."))


class NewResourceMembers(ResourceMembers):
    """The members of ``resource_create``, and of ``resource`` in ``datastore_create``."""

    id = ResourceIdField(help_text=_("A UUID; chosen if not given."))
    package_id = ResourceIdField(
        help_text=_(
            "The name of the new dataset, for addresses: letters, digits, `-` and `_`. The id if"
            " not given. A dataset that exists is refused."
        )
    )
    url = MetadataField("source", help_text=_("The `source`, if that is not given."))
    private = BooleanField(
        help_text=_("Whether only users with the permission may read the resource."),
        shown_default="false",
    )


class ChangedResourceMembers(ResourceMembers):
    """The members of ``resource_update`` and ``resource_patch``."""

    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, "
            "this is not changed."
        )
    )


def read_resource_values(
    sent: Mapping[str, object], parsed: Mapping[str, Any], *, is_complete: bool = False
) -> dict[str, Any]:
    """
    Read the values of a resource's columns out of the members that were sent, and parsed.

    A member without a value empties its column.  If the members are complete, so does one that was
    not sent, except the title and its language.

    Source: CKAN ``resource_update``, which keeps the name that was not sent.
    """
    names = [name for name in ResourceMembers.get_declared() if name in sent]
    if is_complete:
        names = list(dict.fromkeys([*names, "description", *METADATA]))
    columns = {name: TEXTS.get(name, name) for name in names}
    return {
        column: parsed.get(name, getattr(Resource, column).field.get_default())
        for name, column in columns.items()
    }


def read_translations(sent: Mapping[str, Any]) -> Translations:
    """Read members such as ``name_fr``."""
    return split_translations(sent, TEXTS, "_")[0]


#: What pushers send as it was shown some time ago, or with their own values.
_OF_PUSHERS = frozenset({"datastore_active", "force", "hash", "url_type"})
_TIMES = ("last_modified", "metadata_modified")


def refuse_other_members(
    sent: Mapping[str, Any], shown: Mapping[str, Any], changed: Resource | None = None
) -> None:
    """
    Refuse members that are not stored, unless they are empty or as ``resource_show`` gives them.

    Of a resource that is ``changed``, what it showed some time ago is accepted, too: two times that
    are the same, and the address of its dump in another language.

    Raises: ``ValidationError``.
    """
    members = ChangedResourceMembers if changed else NewResourceMembers
    accepted = {*members.get_declared()}
    if not changed and sent.get("source") not in (None, "", sent.get("url")):
        accepted.remove("url")
    if changed:
        accepted |= _OF_PUSHERS
        if sent.get(_TIMES[0]) == sent.get(_TIMES[1]):
            accepted.update(_TIMES)
        if str(sent.get("url", "")).endswith(f"/{changed.pk}"):
            accepted.add("url")
    others = split_translations(sent, TEXTS, "_")[1]
    refused = [
        name
        for name, value in others.items()
        if name not in accepted
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

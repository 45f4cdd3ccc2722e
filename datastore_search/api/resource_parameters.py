"""
The members of a resource that clients send, alone or in ``datastore_create``.

Source: CKAN's ``resource_create``.  It stores members that it does not know; here they are refused,
unless their values are those that ``resource_show`` gives, as clients send back all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..models import (
    MAX_TITLE_LENGTH,
    Translations,
    split_translations,
    validate_content_language,
)
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


class ResourceMembers(ActionParameters):
    """The members that describe a resource; ``refuse_other_members`` checks the others."""

    accepts_others = True

    @classmethod
    def list_stored(cls, _sent: Mapping[str, object], /) -> set[str]:
        """List the members that are stored, of those that were sent or not."""
        return {*cls.get_declared()}

    name = TitleField(help_text=_("The title, cut at 300 letters."))
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

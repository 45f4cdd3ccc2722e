"""The metadata of a resource besides its title: licence, source, publisher, coverage."""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from ..field_types import is_storable
from .resources import Resource

#: The fields of ``Resource`` that hold it.
METADATA: Final = (
    "license",
    "source",
    "publisher",
    "contact",
    "contact_email",
    "tags",
    "temporal_start",
    "temporal_end",
    "spatial",
    "frequency",
    "version_date",
)


def clean_metadata(name: str, value: object) -> Any:
    """
    Check a JSON value, and convert it to a value of the model's field.

    Tags are a list of texts, everything else is a text; null and an empty text mean no value.
    """
    field = get_metadata_field(name)
    # The kind comes first: a field of Django's reads JSON out of a text, and fails on a number.
    if isinstance(field, ArrayField):
        cleaned: Any = _clean_texts([] if value in (None, "") else value)
        if isinstance(value, list):  # empty texts count, too
            ArrayMaxLengthValidator(field.size)(value)
    else:
        cleaned = _clean_text("" if value is None else value)
    return field.clean(cleaned, None) if cleaned else field.get_default()


def get_metadata_field(name: str) -> models.Field[Any, Any]:
    """Get the model's field of a name in ``METADATA``."""
    return cast("models.Field[Any, Any]", getattr(Resource, name).field)


def _clean_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValidationError(_("Must be text."))
    if not is_storable(value):
        raise ValidationError(_("The text contains a character that cannot be stored."))
    return value.strip()


def _clean_texts(value: object) -> list[str]:
    """Check a list of texts, without the empty and the repeated ones."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValidationError(_("Must be a list of texts."))
    return list(dict.fromkeys(text for text in map(_clean_text, value) if text))

"""Aliases: other names of resources."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from ..contributions import Hook
from ..messages.texts import show_bidi_controls
from ..messages.writing import InvalidAlias
from .base import PrimaryModel, parse_resource_id

#: Characters of an alias, and so of any name under which a resource is requested.
MAX_ALIAS_LENGTH = 200

#: Whether a dataset of no resource has a name or an id, unless it is the one of the resource.
has_dataset: Hook[Callable[[str, uuid.UUID], bool]] = Hook(
    "names of datasets", lambda _name, _resource_id: False
)

_INVALID_ALIAS_CHARACTERS = re.compile(r'[\x00-\x1f\x7f-\x9f"%]')


def check_alias(name: str) -> None:
    """
    Refuse what cannot be an alias; an underscore begins the names that the API itself gives.

    Raises: ``InvalidAlias``.

    Source: CKAN, where an alias is the name of a table: no ``"`` and no ``%``.
    """
    fits = name == name.strip() and 0 < len(name) <= MAX_ALIAS_LENGTH
    if (
        not fits
        or name.startswith("_")
        or parse_resource_id(name)
        or _INVALID_ALIAS_CHARACTERS.search(name)
    ):
        raise InvalidAlias(alias=name[:100])


def validate_alias(name: str) -> None:
    try:
        check_alias(name)
    except InvalidAlias as error:
        raise ValidationError(str(error)) from error


def validate_free_name(row: models.Model, name: str, resource_id: uuid.UUID) -> None:
    """
    Refuse a new name that another resource or a dataset has, without saying which.

    A resource has its id, its name and its aliases.
    """
    resources: Any = Alias.resource.field.related_model
    others = resources.objects.known_as(name).exclude(pk=resource_id)
    is_taken = others.exists() or has_dataset.entry(name, resource_id)
    if is_taken and not type(row)._default_manager.filter(pk=row.pk, name=name).exists():
        raise ValidationError({"name": row.unique_error_message(type(row), ("name",))})


class Alias(PrimaryModel):
    resource_paths = ("resource_id",)

    resource = models.ForeignKey(
        "Resource", models.CASCADE, verbose_name=_("resource"), related_name="aliases"
    )
    name = models.CharField(
        _("name"), max_length=MAX_ALIAS_LENGTH, unique=True, validators=[validate_alias]
    )

    class Meta(PrimaryModel.Meta):
        verbose_name = _("alias")
        verbose_name_plural = _("aliases")
        ordering = ("name",)

    def __str__(self) -> str:
        return show_bidi_controls(self.name)

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """Refuse the name of another resource, too."""
        super().validate_unique(exclude)
        if "name" not in (exclude or ()):
            validate_free_name(self, self.name, self.resource_id)

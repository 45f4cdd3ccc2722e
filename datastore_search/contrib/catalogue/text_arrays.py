"""Arrays of texts."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.checks import CheckMessage


class TextArrayField(ArrayField):
    """
    Django's field, in portals without ``django.contrib.postgres`` in ``INSTALLED_APPS`` too.

    From Django 6.0 on ``ArrayField`` asks for that app.  It registers lookups of texts and types
    of HStore, which an array of texts does not need.  Migrations contain Django's own field.
    """

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Check the field, but not whether the app is installed."""
        return [error for error in super().check(**kwargs) if error.id != "postgres.E005"]

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """Return what Django's own field is made of."""
        name, _path, arguments, options = super().deconstruct()
        return name, "django.contrib.postgres.fields.ArrayField", arguments, options

"""A model of which a plain ``save`` writes only some fields."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models


class GuardedModel(models.Model):
    """
    A row with fields that only loading and writing change; a plain ``save`` does not write them.

    An object that was read before a load therefore cannot undo what the load has published.
    ``update`` writes these fields, and so does ``save`` with their names in ``update_fields``.
    """

    #: The names of those fields.
    guarded_fields: ClassVar[frozenset[str]]

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row; its guarded fields only if it is new, copied, or they are named."""
        is_copied = options.get("using") not in {None, self._state.db}
        is_whole = self._state.adding or options.get("force_insert") or is_copied
        if options.get("update_fields") is None and not is_whole:
            left = self.get_deferred_fields()
            options["update_fields"] = [
                field.name
                for field in self._meta.concrete_fields
                if not field.primary_key
                and field.name not in self.guarded_fields
                and field.attname not in left
            ]
        super().save(*args, **options)

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

"""A model of which a plain ``save`` writes only some fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models.base import ModelBase


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

    def save(
        self,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Save the row; its guarded fields only if it is new, copied, or they are named."""
        is_copied = using is not None and using != self._state.db
        if update_fields is None and not (self._state.adding or force_insert or is_copied):
            update_fields = self._list_unguarded_fields()
        super().save(
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def _list_unguarded_fields(self) -> list[str]:
        left = self.get_deferred_fields()
        return [
            field.name
            for field in self._meta.concrete_fields
            if not field.primary_key
            and field.name not in self.guarded_fields
            and field.attname not in left
        ]

"""Fields: the data dictionary of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from ..routing import PrimaryManager
from .base import GuardedModel

_MAX_LABEL_LENGTH = 500


class Field(GuardedModel):
    """A field of a resource, as the data dictionary describes it."""

    guarded_fields = frozenset({"name", "type", "position", "is_sparse", "has_order_index"})

    resource = models.ForeignKey(
        "Resource", models.CASCADE, verbose_name=_("resource"), related_name="fields"
    )
    name = models.CharField(_("name"), max_length=500, editable=False)
    type = models.CharField(_("type"), max_length=63, editable=False)
    position = models.PositiveIntegerField(_("position"), editable=False)
    label = models.CharField(_("label"), max_length=_MAX_LABEL_LENGTH, blank=True)
    notes = models.TextField(_("notes"), blank=True)
    #: The records that were there before the field lack it: they have null without saying so.
    is_sparse = models.BooleanField(default=False, editable=False)
    #: The table has an index of the field's order.
    has_order_index = models.BooleanField(default=False, editable=False)
    #: The type that staff have chosen for this and the next loads, as ``--type`` takes it.
    chosen_type = models.CharField(_("type for the next load"), max_length=100, blank=True)
    #: Other members of the entry in the data dictionary, as a client sent them.
    extra_info = models.JSONField(default=dict, blank=True, editable=False)

    objects = PrimaryManager()

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("field")
        verbose_name_plural = _("fields")
        ordering = ("position",)
        constraints = (
            models.UniqueConstraint(
                fields=("resource", "name"), name="datastore_search_field_name"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def info(self) -> dict[str, Any]:
        """Return the entry of the data dictionary, with CKAN's names."""
        texts = {"label": self.label, "notes": self.notes}
        return {**self.extra_info, **{name: text for name, text in texts.items() if text}}

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        label, notes = info.get("label"), info.get("notes")
        self.label = label if isinstance(label, str) and len(label) <= _MAX_LABEL_LENGTH else ""
        self.notes = notes if isinstance(notes, str) else ""
        texts = {"label": self.label, "notes": self.notes}
        # Members that staff cannot edit stay as they are.
        self.extra_info = {name: value for name, value in info.items() if not texts.get(name)}

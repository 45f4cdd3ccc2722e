"""Fields: the data dictionary of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from ..database.tables import WEIGHTS
from ..messages.bidi import show_bidi_controls
from .base import GuardedModel, PrimaryManager
from .translations import (
    MAX_LABEL_LENGTH,
    LocalText,
    choose_text,
    split_translations,
    validate_translations,
    write_translations,
)

#: The texts of a field, as members of its entry in the data dictionary.
_TEXTS = {"label": "label", "notes": "notes"}
_SEPARATOR = "_"


class Field(GuardedModel):
    resource_paths = ("resource_id",)
    guarded_fields = frozenset({"name", "type", "position", "is_sparse", "has_order_index"})

    resource = models.ForeignKey(
        "Resource", models.CASCADE, verbose_name=_("resource"), related_name="fields"
    )
    name = models.CharField(_("name"), max_length=500, editable=False)
    type = models.CharField(_("type"), max_length=63, editable=False)
    position = models.PositiveIntegerField(_("position"), editable=False)
    label = models.CharField(_("label"), max_length=MAX_LABEL_LENGTH, blank=True)
    notes = models.TextField(_("notes"), blank=True)
    #: A language → ``label``, ``notes`` → the text.
    translations = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
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
        return show_bidi_controls(self.name)

    def clean(self) -> None:
        super().clean()
        validate_translations(self.translations, _TEXTS)

    @property
    def info(self) -> dict[str, Any]:
        """Return the data dictionary's entry, with CKAN's names and translations (``label_fr``)."""
        texts = {"label": self.label, "notes": self.notes}
        return {
            **self.extra_info,
            **{name: text for name, text in texts.items() if text},
            **write_translations(self.translations, _TEXTS, _SEPARATOR),
        }

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        self.translations, info = split_translations(info, _TEXTS, _SEPARATOR)
        label, notes = info.get("label"), info.get("notes")
        self.label = label if isinstance(label, str) and len(label) <= MAX_LABEL_LENGTH else ""
        self.notes = notes if isinstance(notes, str) else ""
        texts = {"label": self.label, "notes": self.notes}
        # Members that staff cannot edit stay as they are.
        self.extra_info = {name: value for name, value in info.items() if not texts.get(name)}

    @property
    def weight(self) -> int:
        """What its words count in the next table: the member ``weight``, if that is one of them."""
        weight = self.extra_info.get("weight")
        return weight if isinstance(weight, int) and weight in WEIGHTS else 1

    @weight.setter
    def weight(self, weight: int) -> None:
        if weight != self.weight:
            self.extra_info = {**self.extra_info, "weight": weight}

    def choose_label(self, plain_language: str) -> LocalText:
        """Choose the label for the active language; plain texts are in ``plain_language``."""
        return choose_text("label", self.label, self.translations, plain_language)

    def choose_notes(self, plain_language: str) -> LocalText:
        return choose_text("notes", self.notes, self.translations, plain_language)

    def choose_info(self, plain_language: str) -> dict[str, Any]:
        """Return ``info`` with the label and the notes for the active language."""
        texts = {
            "label": self.choose_label(plain_language).text,
            "notes": self.choose_notes(plain_language).text,
        }
        return {**self.info, **{name: text for name, text in texts.items() if text}}

"""The forms of the admin: a resource, and its fields."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import connections, router
from django.utils.translation import gettext_lazy as _

from ..database.server import list_search_languages
from ..database.tables import WEIGHTS
from ..models import Field, IndexKind, Resource
from .translations import list_language_choices
from .versions import VersionedForm


class ResourceForm(VersionedForm, forms.ModelForm):
    class Meta:
        model = Resource
        fields = (
            "title",
            "name",
            "description",
            "private",
            "language",
            "content_language",
            "indexes",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the text search configurations of PostgreSQL as languages."""
        super().__init__(*args, **kwargs)
        if "language" in self.fields:
            languages = list_search_languages(connections[router.db_for_write(Resource)])
            self.fields["language"].widget = forms.Select(choices=[(n, n) for n in languages])
        if "content_language" in self.fields:
            self.fields["content_language"].widget = forms.Select(choices=list_language_choices())
        if "indexes" in self.fields:
            declared = self.fields["indexes"]
            self.fields["indexes"] = forms.MultipleChoiceField(
                label=declared.label,
                help_text=declared.help_text,
                required=False,
                choices=IndexKind.choices,
                widget=forms.CheckboxSelectMultiple,
            )

    def clean_indexes(self) -> list[str] | None:
        """Return None, the portal's own indexes, if none is chosen."""
        return self.cleaned_data["indexes"] or None


class FieldForm(forms.ModelForm):
    weight = forms.TypedChoiceField(
        label=_("weight"),
        choices=[(weight, str(weight)) for weight in WEIGHTS],
        coerce=int,
        required=False,
        empty_value=None,
        help_text=_("What its words count in the order of results, from the next load on."),
    )

    class Meta:
        model = Field
        fields = ("label", "notes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the weight, which is a member of the data dictionary."""
        super().__init__(*args, **kwargs)
        self.initial["weight"] = self.instance.weight

    def clean_weight(self) -> int:
        """Set the weight; one that is not sent stays."""
        weight: int = self.cleaned_data["weight"] or self.instance.weight
        self.instance.weight = weight
        return weight

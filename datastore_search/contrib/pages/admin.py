"""The saved views of a resource on its page in the admin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db import models
from django.http import HttpRequest

from ...admin.parts import ResourcePart
from ...admin.permissions import LabelledFormSet, ResourceInline
from ...models import Resource
from .models import MAX_VIEWS, SavedView
from .saved_views import VIEW_TYPES


class SavedViewForm(forms.ModelForm):
    """A view; one of a type that no page shows keeps it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names = dict.fromkeys((*VIEW_TYPES, self.instance.view_type))
        self.fields["view_type"].widget = forms.Select(choices=[(name, name) for name in names])

    def has_changed(self) -> bool:
        # A proposed view that still lacks its title is refused, not left out.
        return super().has_changed() or (self.instance._state.adding and bool(self.initial))


class SavedViewFormSet(LabelledFormSet):
    #: The values of new views.
    proposed: Sequence[Mapping[str, object]] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "initial": self.proposed})


class SavedViewInline(ResourceInline):
    model = SavedView
    form = SavedViewForm
    formset = SavedViewFormSet
    max_num = MAX_VIEWS
    has_add_permission = has_delete_permission = ResourceInline.has_change_permission
    fields = ("position", "title", "description", "view_type", "query")
    formfield_overrides = {
        models.TextField: {"widget": forms.Textarea(attrs={"rows": 2, "cols": 20})},
        models.CharField: {"widget": forms.TextInput(attrs={"size": 15})},
    }

    def get_formset(self, request: HttpRequest, obj: Resource | None = None, **kwargs: Any) -> Any:
        """Offer a new view of what a data page shows, which the address has."""
        formset: Any = super().get_formset(request, obj, **kwargs)
        sent = {name: request.GET[name] for name in ("view_type", "query") if name in request.GET}
        if obj and sent:
            formset.proposed = [{**sent, "position": obj.saved_views.count()}]
            formset.extra = 1
        return formset


class ViewsOfResource(ResourcePart):
    inlines = (SavedViewInline,)


views_of_resource = ViewsOfResource()

"""The chooser of resources: the input of a foreign key, and a block of a ``StreamField``."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from wagtail.admin.forms.choosers import BaseFilterForm
from wagtail.admin.views.generic import chooser
from wagtail.admin.viewsets.chooser import ChooserViewSet
from wagtail.admin.widgets.chooser import BaseChooser
from wagtail.blocks import ChooserBlock

from ...interface import list_resources
from ...models import Resource, parse_resource_id


class ResourceFilterForm(BaseFilterForm):
    q = forms.CharField(label=_("Search"), max_length=100, required=False)

    def filter(self, objects: QuerySet[Resource]) -> QuerySet[Resource]:
        self.search_query = text = self.cleaned_data.get("q", "")
        self.is_searching = bool(text)
        return objects.filter(Q(title__icontains=text) | Q(name__icontains=text))


class _ResourceInput(BaseChooser):
    def get_value_data_from_instance(self, instance: Resource) -> dict[str, Any]:
        """Write the id as text, for JSON."""
        return {**super().get_value_data_from_instance(instance), "id": str(instance.pk)}


class _ResourceBlock(ChooserBlock):
    def bulk_to_python(self, values: list[str | None]) -> list[Resource | None]:
        """Find resources by ids as texts, which Wagtail would compare with UUIDs."""
        ids = [parse_resource_id(str(value)) for value in values]
        return list(super().bulk_to_python(ids))


class _OfReader:
    """Choose among the resources with records that the user may read."""

    filter_form_class = ResourceFilterForm
    request: Any

    def get_object_list(self) -> QuerySet[Resource]:
        return list_resources(self.request)

    def get_object(self, pk: str) -> Resource:
        return self.get_object_list().get(pk__in=[parse_resource_id(pk)])

    def get_objects(self, pks: list[str]) -> QuerySet[Resource]:
        return self.get_object_list().filter(pk__in=[*filter(None, map(parse_resource_id, pks))])


class ResourceChooserViewSet(ChooserViewSet):
    model = "datastore_search.Resource"
    icon = "table"
    choose_one_text = _("Choose a table")
    choose_another_text = _("Choose another table")
    base_widget_class = _ResourceInput
    base_block_class = _ResourceBlock
    choose_view_class = type("ChooseView", (_OfReader, chooser.ChooseView), {})
    choose_results_view_class = type("ResultsView", (_OfReader, chooser.ChooseResultsView), {})
    chosen_view_class = type("ChosenView", (_OfReader, chooser.ChosenView), {})
    chosen_multiple_view_class = type("ChosenMany", (_OfReader, chooser.ChosenMultipleView), {})

    def get_urlpatterns(self) -> list[Any]:
        """Leave out the address of a form: the page *Datastore* makes resources."""
        return [each for each in super().get_urlpatterns() if each.name != "create"]


resource_chooser = ResourceChooserViewSet("datastore_search_chooser")
ResourceChooserBlock = resource_chooser.get_block_class("ResourceChooserBlock", __name__)

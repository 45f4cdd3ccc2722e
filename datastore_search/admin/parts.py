"""What contrib apps add to the admin of resources: columns, pages, sections, actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.options import InlineModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, URLPattern, reverse

from ..contributions import Table, get_path
from ..models import Field, Resource


class ResourcePart:
    """A part of the pages of resources; a contrib app overrides what it needs."""

    #: Columns of the list, after those of the core.
    columns: ClassVar[Sequence[Callable[[Resource], Any]]] = ()
    #: Columns of the data dictionary, and the form that has their inputs.
    field_columns: ClassVar[Sequence[str]] = ()
    field_form: ClassVar[type[forms.ModelForm[Field]] | None] = None
    #: Style sheets and scripts.
    media: ClassVar[forms.Media] = forms.Media()
    #: Inlines before those of the core.
    inlines: ClassVar[Sequence[type[InlineModelAdmin[Any, Any]]]] = ()
    #: A template below the form of a resource.
    template: ClassVar[str] = ""
    #: The name and the label of a button that saves a new resource, and goes on.
    button: ClassVar[tuple[str, Any] | None] = None

    def list_urls(
        self, owner: ModelAdmin, get_changeable: Callable[..., Resource]
    ) -> list[URLPattern]:
        """List addresses of pages; ``get_changeable`` finds a resource that the user may change."""
        return []

    def list_tools(self, resource: Resource) -> Mapping[str, Any]:
        """Map the addresses of tools on the page of a resource to their labels."""
        return {}

    def list_readonly(self, resource: Resource | None) -> Sequence[str]:
        """List the fields of the form that cannot be changed there."""
        return ()

    def select_related(self, resources: QuerySet[Resource]) -> QuerySet[Resource]:
        """Add to the statement of the list what the columns need."""
        return resources

    def prepare_list(self) -> None:
        """Bring up to date what the list shows."""

    def build_context(self, resource: Resource | None) -> dict[str, Any]:
        return {}

    def continue_after_adding(
        self, request: HttpRequest, resource: Resource
    ) -> HttpResponse | None:
        """Answer when the button was pressed; None otherwise."""
        return None


parts: Table[ResourcePart] = Table("parts of the admin", get_path)


def get_page_address(resource: Resource) -> str | None:
    """Return the address of the data page; None without records, or without the pages."""
    if not resource.table_version_id:
        return None
    try:
        return reverse("datastore_search:resource", args=[resource.pk])
    except NoReverseMatch:
        return None

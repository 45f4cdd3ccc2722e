"""The metadata of a resource on its page in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ...admin.forms import VersionedFormSet
from ...admin.parts import ResourcePart
from ...admin.permissions import ResourcePermissions, has_permission
from ...models import Resource
from .descriptions import METADATA
from .models import Dataset

#: On one line.
_PERIOD = ("temporal_start", "temporal_end")


class MetadataInline(ResourcePermissions, admin.StackedInline):
    model = Dataset
    formset = VersionedFormSet
    verbose_name = verbose_name_plural = _("About the data")
    classes = ("collapse",)
    can_delete = False
    fields = [_PERIOD if name == _PERIOD[0] else name for name in METADATA if name != _PERIOD[1]]

    def has_add_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        """Use the permission of the resource; a user who adds one may describe it."""
        return has_permission(request, "change" if obj else "add", obj)


class MetadataOfResource(ResourcePart):
    inlines = (MetadataInline,)


metadata_of_resource = MetadataOfResource()

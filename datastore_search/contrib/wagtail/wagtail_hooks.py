"""What Wagtail finds by the name of this module: the menu item and the addresses of the chooser."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse, reverse_lazy
from wagtail import hooks
from wagtail.admin.menu import MenuItem

from ...models import Datastore
from .chooser import resource_chooser

_PAGE = "admin:datastore_search_datastore_changelist"


class DatastoreMenuItem(MenuItem):
    def is_shown(self, request: HttpRequest) -> bool:
        """Show it to a user who may open the page, if the portal has it."""
        with suppress(NoReverseMatch):
            page: Any = reverse(_PAGE) and admin.site.get_model_admin(Datastore)
            return admin.site.has_permission(request) and page.has_view_permission(request)
        return False


_ITEM = DatastoreMenuItem(
    Datastore._meta.verbose_name, reverse_lazy(_PAGE), name="datastore", icon_name="table"
)
hooks.register("register_admin_menu_item", lambda: _ITEM)
hooks.register("register_admin_viewset", lambda: resource_chooser)

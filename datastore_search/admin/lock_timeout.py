"""Changes by staff wait for a lock only so long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import connections, router
from django.http import HttpRequest
from django.shortcuts import redirect

from .. import storage
from ..conf import conf
from ..exceptions import WriteBlocked


class LimitedWaits(admin.ModelAdmin):
    """
    An admin whose saves and deletions end when another change does not.

    Nothing is saved then, and a message says why.
    """

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Add or change."""
        return self._within_limit(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Delete one."""
        return self._within_limit(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Delete several."""
        return self._within_limit(super().changelist_view, request, *args, **kwargs)

    def _within_limit(
        self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any
    ) -> Any:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        connection = connections[router.db_for_write(self.model)]
        try:
            with storage.write_transaction(connection, conf.LOCK_TIMEOUT):
                return view(request, *args, **kwargs)
        except WriteBlocked as blocked:
            messages.error(request, str(blocked))
            return redirect(request.get_full_path())

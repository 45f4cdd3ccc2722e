"""What the admin does when the database is locked for too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import connections, router
from django.http import HttpRequest
from django.shortcuts import redirect

from ..database.statements import begin_write_transaction
from ..messages.availability import WriteBlocked


class LockTimeoutAdmin(admin.ModelAdmin):
    """
    A ModelAdmin whose changes fail when another transaction holds a lock for too long.

    Nothing is changed then, and a message gives the reason.
    """

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return self._run_with_lock_timeout(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return self._run_with_lock_timeout(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return self._run_with_lock_timeout(super().changelist_view, request, *args, **kwargs)

    def _run_with_lock_timeout(
        self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any
    ) -> Any:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        connection = connections[router.db_for_write(self.model)]
        try:
            with begin_write_transaction(connection):
                return view(request, *args, **kwargs)
        except WriteBlocked as blocked:
            messages.error(request, str(blocked))
            return redirect(request.get_full_path())

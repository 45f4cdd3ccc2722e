"""What the admin does when the database is away, full, read-only, or locked for too long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.db import connections, router
from django.db.utils import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern

from ..database.refusals import explain_refusal
from ..database.writes import begin_write_transaction
from ..messages.availability import DatabaseUnreachable, WriteBlocked
from ..web.errors import ADMIN_TEMPLATE, answer_refusal

View = Callable[..., HttpResponse]


class DatabaseErrorAdmin(admin.ModelAdmin):
    """A ModelAdmin that answers a refusal of the database with 503 and a page, not with 500."""

    @property
    def urls(self) -> list[URLPattern]:
        """Wrap the views of all pages of the model, Django's included."""
        patterns: list[URLPattern] = self.get_urls()
        for pattern in patterns:
            pattern.callback = _handle_refusals(pattern.callback)
        return patterns


def _handle_refusals(view: View) -> View:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (InterfaceError, InternalError, OperationalError, ProgrammingError) as error:
            refusal = explain_refusal(error)
            if refusal is None and isinstance(error, InterfaceError | OperationalError):
                refusal = DatabaseUnreachable()
            if refusal is None:
                raise
            return answer_refusal(request, refusal, error, template=ADMIN_TEMPLATE)

    return answer


class LockTimeoutAdmin(admin.ModelAdmin):
    """
    A ModelAdmin whose changes fail when another transaction holds a lock for too long.

    Nothing is changed then, and a message gives the reason.
    """

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Show the form, or add or change an object."""
        return self._run_with_lock_timeout(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Ask for confirmation, or delete an object."""
        return self._run_with_lock_timeout(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Show the list, or run an action on several objects."""
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

"""Database errors in the admin: a page for a database that is away, full or read-only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.db.utils import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern

from .. import storage
from ..database_errors import ADMIN_TEMPLATE, answer_refusal
from ..exceptions.availability import DatabaseUnreachable

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
            refusal = storage.explain_refusal(error)
            if refusal is None and isinstance(error, InterfaceError | OperationalError):
                refusal = DatabaseUnreachable()
            if refusal is None:
                raise
            return answer_refusal(request, refusal, error, template=ADMIN_TEMPLATE)

    return answer

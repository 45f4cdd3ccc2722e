"""Database errors in the admin: a page for a database that is away, full or read-only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.db.utils import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern

from .. import storage
from ..exceptions.availability import DatabaseUnreachable
from ..unreadable_users import forget_unreadable_user

logger = logging.getLogger(__name__)

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
            logger.exception("The database refused a request.")
            # The page reads nothing from the database, which may refuse that too.
            forget_unreadable_user(request)
            response = render(
                request,
                "datastore_search/admin/database_error.html",
                {"message": str(refusal)},
                status=HTTPStatus.SERVICE_UNAVAILABLE,
            )
            response["Retry-After"] = str(refusal.wait)
            return response

    return answer

"""What the database refuses, said on a page of the admin."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.db.utils import InternalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern

from .. import storage

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponse]


class RefusalAwareAdmin(admin.ModelAdmin):
    """An admin whose pages say that the database is read-only, in place of a server error."""

    @property
    def urls(self) -> list[URLPattern]:
        """Give every page of the model, its own and Django's."""
        patterns: list[URLPattern] = self.get_urls()
        for pattern in patterns:
            pattern.callback = _answering_refusals(pattern.callback)
        return patterns


def _answering_refusals(view: View) -> View:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (InternalError, ProgrammingError) as error:
            refusal = storage.refusal_of(error)
            if refusal is None:
                raise
            logger.exception("The database refused a request.")
            # No more than this is shown: what other pages need may not be readable now.
            response = render(
                request,
                "datastore_search/admin/database_error.html",
                {"message": str(refusal)},
                status=HTTPStatus.SERVICE_UNAVAILABLE,
            )
            response["Retry-After"] = str(refusal.wait)
            return response

    return answer

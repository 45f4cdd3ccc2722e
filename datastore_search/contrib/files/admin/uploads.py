"""Check uploads before Django's CSRF protection reads the whole form, files included."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.defaultfilters import filesizeformat
from django.views.decorators.csrf import csrf_exempt

from ....messages.requests import InvalidContentLength
from ....web.views import measure_body
from ..conf import conf
from ..messages.failures import UploadTooLarge

View = Callable[..., HttpResponse]

#: The parts of the form beside the file.
MAX_SCHEMA_BYTES = 2**20
MAX_OPTIONS_BYTES = 3 * 2**20


class LimitedUploadHandler(FileUploadHandler):
    """Stop an upload once all files of the form together exceed ``max_bytes``."""

    def __init__(self, request: HttpRequest, max_bytes: int) -> None:
        """Begin with no byte received."""
        super().__init__(request)
        self._bytes_left = max_bytes

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Count the bytes, and pass them to the next handler."""
        self._bytes_left -= len(raw_data)
        if self._bytes_left < 0:
            raise UploadTooLarge(most=filesizeformat(conf.MAX_UPLOAD_BYTES))
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


def accept_uploads(owner: ModelAdmin, view: View, check: Callable[..., object]) -> View:
    """
    Make an admin view of a view that receives files.

    Before the form is read, ``check`` is called with the arguments of the view, and raises if the
    user may not upload; then the size of the request is checked.
    """
    protected = owner.admin_site.admin_view(view)
    signing_in = owner.admin_site.admin_view(csrf_exempt(view))

    @csrf_exempt  # the inner view checks the token, once the form may be read
    @wraps(view)
    def receive(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            return protected(request, *args, **kwargs)
        if not owner.admin_site.has_permission(request):
            return signing_in(request, *args, **kwargs)
        try:
            check(request, *args, **kwargs)
        except Exception:
            # The error page would read the form to find its token.
            request.csrf_processing_done = True  # type: ignore[attr-defined] # Django's mark
            raise
        try:
            _limit_upload_size(request)
            return protected(request, *args, **kwargs)
        except InvalidContentLength as error:
            return HttpResponseBadRequest(str(error))
        except UploadTooLarge as error:
            for handler in request.upload_handlers:
                handler.upload_interrupted()  # deletes what it has written
            messages.error(request, str(error))
            request.method = "GET"  # show the form again, without reading the rest
            response = protected(request, *args, **kwargs)
            response.status_code = 413
            return response

    return receive


def _limit_upload_size(request: HttpRequest) -> None:
    max_bytes = conf.MAX_UPLOAD_BYTES + MAX_SCHEMA_BYTES
    if measure_body(request) > max_bytes + MAX_OPTIONS_BYTES:
        raise UploadTooLarge(most=filesizeformat(conf.MAX_UPLOAD_BYTES))
    request.upload_handlers.insert(0, LimitedUploadHandler(request, max_bytes))

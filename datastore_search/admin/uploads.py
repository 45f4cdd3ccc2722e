"""
Receiving files: what may not be uploaded, or is too large, is refused before it is received.

Django's protection against forged forms reads the whole form, files and all, before any view of the
admin is asked.
"""

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

from ..conf import conf
from ..exceptions import InvalidContentLength, UploadTooLarge
from ..request_limits import body_bytes

_View = Callable[..., HttpResponse]

#: What a form has besides its file: a Table Schema, and options.
_MAX_SCHEMA_BYTES = 2**20
_MAX_OPTIONS_BYTES = 3 * 2**20


class LimitedUpload(FileUploadHandler):
    """Stop at the first byte that is too many, of all files of a form together."""

    def __init__(self, request: HttpRequest, max_bytes: int) -> None:
        """Begin with nothing received."""
        super().__init__(request)
        self._left = max_bytes

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """
        Count what is received, and leave it to the next handler.

        Raises: ``UploadTooLarge``.
        """
        self._left -= len(raw_data)
        if self._left < 0:
            raise UploadTooLarge(most=filesizeformat(conf.UPLOAD_MAX_BYTES))
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


def receives_files(owner: ModelAdmin, view: _View, check: Callable[..., object]) -> _View:
    """
    Make a view of the admin of one that takes files.

    ``check`` takes what the view takes, and raises what that raises for who may not upload.  It is
    called before the form is read, and so is the size of the request looked at.
    """
    protected = owner.admin_site.admin_view(view)
    signing_in = owner.admin_site.admin_view(csrf_exempt(view))

    @csrf_exempt  # until the form may be read; then it is looked at as usual
    @wraps(view)
    def receive(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            return protected(request, *args, **kwargs)
        if not owner.admin_site.has_permission(request):
            return signing_in(request, *args, **kwargs)
        try:
            check(request, *args, **kwargs)
        except Exception:
            # The page that says so would read the form, in search of its token.
            request.csrf_processing_done = True  # type: ignore[attr-defined] # Django's mark
            raise
        try:
            _limit_files(request)
            return protected(request, *args, **kwargs)
        except InvalidContentLength as error:
            return HttpResponseBadRequest(str(error))
        except UploadTooLarge as error:
            for handler in request.upload_handlers:
                handler.upload_interrupted()  # lets go of what it has written
            messages.error(request, str(error))
            request.method = "GET"  # the form again, of which nothing more is read
            response = protected(request, *args, **kwargs)
            response.status_code = 413
            return response

    return receive


def _limit_files(request: HttpRequest) -> None:
    """
    Let a form be received as far as its files are not too large.

    Raises: ``UploadTooLarge`` when it is too large as a whole.
    """
    max_bytes = conf.UPLOAD_MAX_BYTES + _MAX_SCHEMA_BYTES
    if body_bytes(request) > max_bytes + _MAX_OPTIONS_BYTES:
        raise UploadTooLarge(most=filesizeformat(conf.UPLOAD_MAX_BYTES))
    request.upload_handlers.insert(0, LimitedUpload(request, max_bytes))

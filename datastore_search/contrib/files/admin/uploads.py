"""Check uploads before Django's CSRF protection reads the whole form, files included."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
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
            size = measure_body(request)
        except InvalidContentLength as error:
            return HttpResponseBadRequest(str(error))
        if size <= conf.MAX_UPLOAD_BYTES + MAX_SCHEMA_BYTES + MAX_OPTIONS_BYTES:
            return protected(request, *args, **kwargs)
        messages.error(request, str(UploadTooLarge(most=filesizeformat(conf.MAX_UPLOAD_BYTES))))
        request.method = "GET"  # show the form again, without reading the rest
        response = protected(request, *args, **kwargs)
        response.status_code = 413
        return response

    return receive

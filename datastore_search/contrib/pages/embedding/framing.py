"""Which pages may show an embedded page in a frame: only those that the portal names."""

from __future__ import annotations

from typing import Any

import django
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from ..conf import conf

#: The parameter of a page that stands in a frame of another one; its value is 1.
EMBED = "embed"

#: The sources of no page at all, and of the portal's own pages.
NONE, SELF = ["'none'"], ["'self'"]


def list_frame_ancestors() -> list[str]:
    """List the sources that may frame an embedded page; an empty setting allows none."""
    return list(conf.FRAME_ANCESTORS) or NONE


def allow_framing(request: HttpRequest, response: HttpResponseBase) -> None:
    """
    Send ``frame-ancestors`` with an embedded page, within the portal's own policy if it has one.

    Two policies would both apply, so the directive replaces the portal's.  The header
    ``X-Frame-Options`` is left as it is: browsers pass over it where a policy has
    ``frame-ancestors``, and it still holds where something else removes the policy.

    Source: HTML Living Standard, "The X-Frame-Options header"; CSP Level 3, section 6.4.2.
    """
    directive = {"frame-ancestors": list_frame_ancestors()}
    if django.VERSION >= (6, 0) and _has_django_policy(request):
        policy = {**settings.SECURE_CSP, **directive}
        _decorate("django.views.decorators.csp.csp_override", policy, request, response)
    elif hasattr(request, "csp_nonce") and getattr(settings, "CONTENT_SECURITY_POLICY", None):
        _decorate("csp.decorators.csp_replace", directive, request, response)
    else:
        response["Content-Security-Policy"] = f"frame-ancestors {' '.join(list_frame_ancestors())}"


def _has_django_policy(request: HttpRequest) -> bool:
    """Return whether Django's middleware sends the policy."""
    return import_string("django.middleware.csp.get_nonce")(request) is not None


def _decorate(
    decorator: str, policy: dict[str, Any], request: HttpRequest, response: HttpResponseBase
) -> None:
    """Mark a response as the decorator of a view does, for the middleware that sends the policy."""
    import_string(decorator)(policy)(lambda _request: response)(request)

"""The Content-Security-Policy of pages; answers of the API, which no browser renders, have none."""

from http import HTTPStatus
from typing import Any

import django
from django.utils.module_loading import import_string

_NAME = (
    "django.middleware.csp.ContentSecurityPolicyMiddleware"
    if django.VERSION >= (6, 0)
    else "csp.middleware.CSPMiddleware"  # of the package django-csp
)
_PolicyMiddleware: Any = import_string(_NAME)


class PagePolicyMiddleware(_PolicyMiddleware):  # type: ignore[misc] # one of two classes
    """
    Adds the policy to every answer but JSON, for which it would cost 2 % of a small search.

    An answer without a body ("not modified") leaves the policy of the page that a browser has.
    """

    def process_response(self, request: Any, response: Any) -> Any:
        """Add the header, unless the answer is JSON or has no body."""
        is_json = response.get("Content-Type", "").startswith("application/json")
        if is_json or response.status_code == HTTPStatus.NOT_MODIFIED:
            return response
        return super().process_response(request, response)

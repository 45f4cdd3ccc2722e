"""The Content-Security-Policy of pages; answers of the API, which no browser renders, have none."""

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
    """Adds the policy to every answer but JSON, for which it would cost 2 % of a small search."""

    def process_response(self, request: Any, response: Any) -> Any:
        """Add the header, unless the answer is JSON."""
        if response.get("Content-Type", "").startswith("application/json"):
            return response
        return super().process_response(request, response)

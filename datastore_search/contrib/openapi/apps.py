"""The app that describes the API in OpenAPI."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class OpenApiConfig(ContribAppConfig):
    """The OpenAPI document of the portal's actions."""

    default = True
    name = "datastore_search.contrib.openapi"
    label = "datastore_search_openapi"
    verbose_name = "datastore_search: openapi"
    packages = {"drf_spectacular": "openapi"}

    def register(self) -> None:
        """Describe how clients authenticate, to drf-spectacular."""
        from . import authentication  # noqa: F401 - importing it registers them

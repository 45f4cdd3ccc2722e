"""The app that describes the API in OpenAPI."""

from __future__ import annotations

from ...apps import ContribAppConfig


class OpenApiConfig(ContribAppConfig):
    packages = {"drf_spectacular": "openapi"}

"""The app that describes the API in OpenAPI."""

from ...apps import ContribAppConfig


class OpenApiConfig(ContribAppConfig):
    packages = {"drf_spectacular": "openapi"}

"""The addresses of a portal with some of the contrib apps."""

from __future__ import annotations

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import URLResolver, include, path


def _include(app: str, module: str) -> list[URLResolver]:
    is_installed = apps.is_installed(f"datastore_search.contrib.{app}")
    return [path("", include(f"datastore_search.contrib.{module}"))] if is_installed else []


urlpatterns = [
    *i18n_patterns(
        path("admin/", admin.site.urls),
        path("", include("datastore_search.urls")),
        *_include("agents", "agents.urls"),
    ),
    *_include("operations", "operations.health.urls"),
    *_include("operations", "operations.metrics.urls"),
]
if apps.is_installed("datastore_search.contrib.openapi"):
    from datastore_search.contrib.openapi.views import SchemaView

    urlpatterns += i18n_patterns(path("api/schema/", SchemaView.as_view(), name="schema"))

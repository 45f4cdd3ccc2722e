"""Addresses of the example portal."""

import os

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from datastore_search.contrib.openapi.views import SchemaView
from datastore_search.urls import api_urlpatterns
from datastore_search.web.addresses import reverse_in_locale


def home(request: HttpRequest) -> HttpResponse:
    """Begin with the catalogue."""
    return redirect(reverse_in_locale(request, "catalogue"))


urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    *i18n_patterns(
        path("", home, name="home"),
        path("admin/", admin.site.urls),
        path("api/schema/", SchemaView.as_view(), name="schema"),
        path(
            "api/docs/",
            SpectacularSwaggerSplitView.as_view(template_name="example_project/swagger.html"),
            name="swagger-ui",
        ),
        path("", include("datastore_search.urls")),
        path("", include("datastore_search.contrib.agents.urls")),
    ),
    path("", include("datastore_search.contrib.operations.health.urls")),
    # For Prometheus alone: the proxy must refuse the address to others.
    *(
        [path("", include("datastore_search.contrib.operations.metrics.urls"))]
        if os.environ.get("METRICS")
        else []
    ),
    # The API without a locale too, for clients that know no locales.
    path("", include((api_urlpatterns, "datastore_search"), namespace="unlocalised")),
]

"""Addresses of the example portal."""

import os

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from datastore_search.contrib.openapi.views import SchemaView
from datastore_search.contrib.pages.page import PageView
from datastore_search.contrib.pages.urls import ckan_urlpatterns
from datastore_search.messages.texts import format_count
from datastore_search.models import Resource
from datastore_search.urls import api_urlpatterns
from datastore_search.web.addresses import reverse_in_locale


class HomeView(PageView):
    """A search, and what everyone may read that was loaded last."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        loaded = Resource.objects.filter(private=False, table_version__isnull=False)
        total = loaded.aggregate(total=Sum("table_version__record_count"))["total"] or 0
        entries = [
            {
                "resource": each,
                "address": reverse_in_locale(request, "resource", each.pk),
                "records": format_count(version.record_count),
            }
            for each in loaded.select_related("table_version").order_by(
                "-table_version__published_at", "pk"
            )[:6]
            if (version := each.table_version)
        ]
        context = {"entries": entries, "record_count": total, "records": format_count(total)}
        return self.render_page("home.html", context, private=True)


urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    *i18n_patterns(
        path("", HomeView.as_view(), name="home"),
        path("admin/", admin.site.urls),
        path("api/schema/", SchemaView.as_view(), name="schema"),
        path(
            "api/docs/",
            SpectacularSwaggerSplitView.as_view(template_name="datastore_search/swagger.html"),
            name="swagger-ui",
        ),
        path("", include("datastore_search.urls")),
        path("", include("datastore_search.contrib.agents.urls")),
        *ckan_urlpatterns,
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

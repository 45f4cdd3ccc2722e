"""Addresses of the example portal."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path
from django.views.generic import TemplateView

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    *i18n_patterns(
        path("", TemplateView.as_view(template_name="example_project/home.html"), name="home"),
        path("admin/", admin.site.urls),
        path("", include("datastore_search.urls")),
    ),
    # The API without a locale too, for clients that know no locales.
    path("", include(("datastore_search.urls", "datastore_search"), namespace="unlocalised")),
]

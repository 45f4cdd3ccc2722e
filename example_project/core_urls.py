"""Addresses of a portal with the core alone."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from datastore_search.urls import api_urlpatterns

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    *i18n_patterns(path("admin/", admin.site.urls), path("", include("datastore_search.urls"))),
    # The API without a locale too, for clients that know no locales.
    path("", include((api_urlpatterns, "datastore_search"), namespace="unlocalised")),
]

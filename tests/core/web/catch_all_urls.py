"""A portal whose pages are a catch-all, with the URLs of the documentation before it."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

from datastore_search.urls import api_urlpatterns, unknown_urlpatterns


def show_page(request: HttpRequest, path: str) -> HttpResponse:
    return HttpResponse(f"<h1>{path}</h1>")


#: As Wagtail's: an address without a slash at its end is redirected.
_catch_all = re_path(r"^((?:[\w\-]+/)*)$", show_page)

urlpatterns = [
    *i18n_patterns(path("", include("datastore_search.urls"))),
    path("", include((api_urlpatterns, "datastore_search"), namespace="unlocalised")),
    *unknown_urlpatterns,
    *i18n_patterns(_catch_all),
    _catch_all,
]

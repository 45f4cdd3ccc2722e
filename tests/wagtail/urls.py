"""The addresses of the example portal, and Wagtail's."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as admin_urls

from example_project.urls import urlpatterns as portal_urls

urlpatterns = [
    *portal_urls,
    *i18n_patterns(path("cms/", include(admin_urls)), path("site/", include(wagtail_urls))),
]

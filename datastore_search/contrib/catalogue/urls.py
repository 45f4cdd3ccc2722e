"""The addresses of the catalogue for machines."""

from django.apps import apps
from django.urls import path

from .views import DataPackageView, FeedView, JsonLdView, SchemaView, SitemapView, TurtleView

urlpatterns = [
    path("datastore/catalog.ttl", TurtleView.as_view(), name="catalog-turtle"),
    path("datastore/catalog.jsonld", JsonLdView.as_view(), name="catalog-jsonld"),
    path("datastore/changes.atom", FeedView.as_view(), name="feed"),
    path("datastore/<uuid:resource_id>/schema.json", SchemaView.as_view(), name="schema"),
    path(
        "datastore/<uuid:resource_id>/datapackage.json",
        DataPackageView.as_view(),
        name="data-package",
    ),
]
if apps.is_installed("datastore_search.contrib.pages"):  # which a sitemap lists
    urlpatterns.append(path("datastore/sitemap.xml", SitemapView.as_view(), name="sitemap"))

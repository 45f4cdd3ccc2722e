"""
The app's URLs, without a locale: the portal includes them in its own ``i18n_patterns``.

    i18n_patterns(path("", include("datastore_search.urls")))

A portal that needs only some of them includes ``api_urlpatterns``, ``dump_urlpatterns`` or
``page_urlpatterns``.
"""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from .downloads.views import DumpView
from .api.views import ActionView, VersionView
from datastore_search.contrib.pages.api_examples import ApiView
from datastore_search.contrib.pages.catalogue.views import CatalogueView
from datastore_search.contrib.pages.charts.views import ChartView
from datastore_search.contrib.catalogue.views.dcat import JsonLdView, TurtleView
from datastore_search.contrib.catalogue.views.descriptions import DataPackageView, SchemaView
from datastore_search.contrib.pages.table.download_failures import answer_browsers
from datastore_search.contrib.pages.maps.views import MapView
from datastore_search.contrib.pages.record.views import RecordView
from datastore_search.contrib.catalogue.views.resource_lists import FeedView, SitemapView
from datastore_search.contrib.pages.views import ResourceView

app_name = "datastore_search"

_action = csrf_exempt(ActionView.as_view())

api_urlpatterns = [
    path("api/action/<path:action>", _action, name="action"),
    path("api/3/action/<path:action>", _action, name="action-3"),
    path("api/3", VersionView.as_view(), name="version"),
    path("api/3/", VersionView.as_view()),
]
dump_urlpatterns = [
    path("datastore/dump/<path:name>", answer_browsers(DumpView.as_view()), name="dump"),
]
page_urlpatterns = [
    path("datastore/", CatalogueView.as_view(), name="catalogue"),
    path("datastore/catalog.ttl", TurtleView.as_view(), name="catalog-turtle"),
    path("datastore/catalog.jsonld", JsonLdView.as_view(), name="catalog-jsonld"),
    path("datastore/sitemap.xml", SitemapView.as_view(), name="sitemap"),
    path("datastore/changes.atom", FeedView.as_view(), name="feed"),
    path("datastore/<uuid:resource_id>/", ResourceView.as_view(), name="resource"),
    path("datastore/<uuid:resource_id>/api/", ApiView.as_view(), name="api-examples"),
    path("datastore/<uuid:resource_id>/chart/", ChartView.as_view(), name="chart"),
    path("datastore/<uuid:resource_id>/map/", MapView.as_view(), name="map"),
    path("datastore/<uuid:resource_id>/r/<str:key>/", RecordView.as_view(), name="record"),
    path("datastore/<uuid:resource_id>/schema.json", SchemaView.as_view(), name="schema"),
    path(
        "datastore/<uuid:resource_id>/datapackage.json",
        DataPackageView.as_view(),
        name="data-package",
    ),
]
urlpatterns = [*api_urlpatterns, *dump_urlpatterns, *page_urlpatterns]

"""The addresses of the pages; those of the catalogue and of figures need their contrib apps."""

from django.apps import apps
from django.urls import path, re_path
from django.views.generic import RedirectView

from .api_examples import ApiView
from .head import AboutView
from .page import NamedPageView, UnknownPageView
from .record import RecordView
from .table import ResourceView

urlpatterns = [
    path("datastore/<uuid:resource_id>/", ResourceView.as_view(), name="resource"),
    path("datastore/<uuid:resource_id>/about/", AboutView.as_view(), name="about"),
    path("datastore/<uuid:resource_id>/api/", ApiView.as_view(), name="api-examples"),
    path("datastore/<uuid:resource_id>/r/<str:key>/", RecordView.as_view(), name="record"),
    re_path(
        r"^datastore/(?!dump/|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/)"
        r"(?P<resource_id>[^/\x00]+)/(?P<rest>.*)\Z",
        NamedPageView.as_view(),
        name="named",
    ),
]
#: The addresses of CKAN's pages, for a portal without pages of its own there: the page that they
#: lead to checks what the user may see.
ckan_urlpatterns = [
    path(
        address,
        RedirectView.as_view(
            url=f"{'../' * address.count('/')}datastore/{page}", query_string=not page
        ),
        name="datastore_search_ckan",
    )
    for address, page in (
        ("dataset/<slug:name>/resource/<uuid:id>", "%(id)s/"),
        ("dataset/<slug:name>", "?q=%(name)s"),
        ("organization/<slug:name>", "?publisher=%(name)s"),
        ("dataset", ""),
        ("dataset/", ""),
    )
]
if apps.is_installed("datastore_search.contrib.catalogue"):
    from .catalogue import CatalogueView

    urlpatterns.append(path("datastore/", CatalogueView.as_view(), name="catalogue"))
if apps.is_installed("datastore_search.contrib.analysis"):
    from .charts.chart import ChartView
    from .charts.compare import CompareView
    from .maps.map import MapView, show_outlines
    from .sql import SqlView

    urlpatterns[:0] = [
        # Before that of a resource of this name.
        path("datastore/sql/", SqlView.as_view(), name="sql"),
        path("datastore/<uuid:resource_id>/chart/", ChartView.as_view(), name="chart"),
        path("datastore/<uuid:resource_id>/compare/", CompareView.as_view(), name="compare"),
        path("datastore/<uuid:resource_id>/map/", MapView.as_view(), name="map"),
        path("datastore/outlines.svg", show_outlines, name="outlines"),
    ]
# Other addresses that end with a slash: the portal's own page of errors may have no language.
urlpatterns.append(
    re_path(r"^datastore/(?!dump/)[^/].*/\Z", UnknownPageView.as_view(), name="unknown")
)

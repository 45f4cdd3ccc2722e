"""The addresses of the pages."""

from __future__ import annotations

from django.urls import path

from .api_examples import ApiView
from .catalogue.views import CatalogueView
from .charts.views import ChartView
from .maps.views import MapView
from .record.views import RecordView
from .table.views import ResourceView

urlpatterns = [
    path("datastore/", CatalogueView.as_view(), name="catalogue"),
    path("datastore/<uuid:resource_id>/", ResourceView.as_view(), name="resource"),
    path("datastore/<uuid:resource_id>/api/", ApiView.as_view(), name="api-examples"),
    path("datastore/<uuid:resource_id>/chart/", ChartView.as_view(), name="chart"),
    path("datastore/<uuid:resource_id>/map/", MapView.as_view(), name="map"),
    path("datastore/<uuid:resource_id>/r/<str:key>/", RecordView.as_view(), name="record"),
]

"""
The address of the metrics, for a portal that wants them.

    path("", include("datastore_search.contrib.operations.metrics.urls"))

Nothing is counted in a process that has not imported this module.
"""

from django.urls import path

from .views import show_metrics

app_name = "datastore_search_metrics"

urlpatterns = [path("metrics", show_metrics, name="metrics")]

"""
The addresses of the health checks, for a portal that wants them.

    path("", include("datastore_search.contrib.operations.health.urls"))
"""

from django.urls import path

from .views import OperationsView, ReadyView, show_live

app_name = "datastore_search_health"

urlpatterns = [
    path("health/live", show_live, name="live"),
    path("health/ready", ReadyView.as_view(), name="ready"),
    path("health/operations", OperationsView.as_view(), name="operations"),
]

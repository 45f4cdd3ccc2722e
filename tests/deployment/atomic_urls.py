"""The addresses of the example portal, and those of the metrics."""

from django.urls import include, path

from example_project.urls import urlpatterns as _of_example

urlpatterns = [*_of_example, path("", include("datastore_search.contrib.operations.metrics.urls"))]

"""The address of the file of a resource, which is CKAN's."""

from django.urls import path

from ...web.errors import explain_failures
from .views import FileView

_view = explain_failures(FileView.as_view())

urlpatterns = [
    path(
        "dataset/<str:dataset_id>/resource/<uuid:resource_id>/download/<str:name>",
        _view,
        name="file",
    ),
    path("dataset/<str:dataset_id>/resource/<uuid:resource_id>/download", _view),
]

"""
The app's URLs, without a locale: the portal includes them in its own ``i18n_patterns``.

    i18n_patterns(path("", include("datastore_search.urls")))

A portal that needs only some of them includes ``api_urlpatterns``, ``dump_urlpatterns`` or
``page_urlpatterns``.
"""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from .api.views import ActionView, VersionView
from .downloads.views import DumpView
from .web.errors import explain_failures
from .web.routes import list_patterns

app_name = "datastore_search"

_action = csrf_exempt(ActionView.as_view())

api_urlpatterns = [
    path("api/action/<path:action>", _action, name="action"),
    path("api/3/action/<path:action>", _action, name="action-3"),
    path("api/3", VersionView.as_view(), name="version"),
    path("api/3/", VersionView.as_view()),
]
dump_urlpatterns = [
    path("datastore/dump/<path:name>", explain_failures(DumpView.as_view()), name="dump"),
]
page_urlpatterns = list_patterns()
urlpatterns = [*api_urlpatterns, *dump_urlpatterns, *page_urlpatterns]

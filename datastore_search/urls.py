"""
The app's addresses, without a locale: the portal includes them in its own ``i18n_patterns``.

    i18n_patterns(path("", include("datastore_search.urls")))
"""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from .api.views import ActionView

app_name = "datastore_search"

_action = csrf_exempt(ActionView.as_view())

urlpatterns = [
    path("api/action/<path:action>", _action, name="action"),
    path("api/3/action/<path:action>", _action, name="action-3"),
]

"""
The app's URLs, without a locale: the portal includes them in its own ``i18n_patterns``.

    i18n_patterns(path("", include("datastore_search.urls")))

A portal with a catch-all, such as Wagtail's, has ``unknown_urlpatterns`` before it: each address
below ``api/`` that no view answers, in any language, is 404 in the envelope.

A portal that needs only some of them includes ``api_urlpatterns``, ``dump_urlpatterns`` or
``page_urlpatterns``.
"""

from contextlib import suppress
from importlib import import_module

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, path, re_path, resolve
from django.utils.translation import get_language
from django.views.decorators.csrf import csrf_exempt

from .api.views import ActionView, VersionView
from .downloads.views import DumpView
from .middleware import answer_unknown_address
from .models.base import exclude_from_atomic_requests
from .web.addresses import routes
from .web.errors import explain_failures

app_name = "datastore_search"

_action = csrf_exempt(ActionView.as_view())

api_urlpatterns = [
    path("api/action/<path:action>", _action, name="action"),
    path("api/3/action/<path:action>", _action, name="action-3"),
    path("api/3", VersionView.as_view(), name="version"),
    path("api/3/", VersionView.as_view()),
]
dump_urlpatterns = [
    path("datastore/dump/<path:name>", explain_failures(DumpView.as_view()), name="dump")
]
# All apps have contributed by now.
page_urlpatterns = [pattern for name in routes for pattern in import_module(name).urlpatterns]


@exclude_from_atomic_requests
@csrf_exempt
def _answer_unknown(request: HttpRequest) -> HttpResponseBase:
    with suppress(Resolver404):
        match = resolve(f"/{get_language()}{request.path_info}")
        if request.method in {"GET", "HEAD"} and match.app_names[-1:] == [app_name]:
            raise Http404  # LocaleMiddleware redirects
    response = answer_unknown_address(request)
    if response is None:
        raise Http404
    return response


unknown_urlpatterns = [
    re_path(
        r"^(?:[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}/)?(?:api|datastore/dump)(?:/.*)?$",
        _answer_unknown,
    )
]
urlpatterns = [*api_urlpatterns, *dump_urlpatterns, *page_urlpatterns]

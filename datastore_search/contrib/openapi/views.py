"""The view of the document: built once for each language and format, with an ``ETag``."""

from __future__ import annotations

import zlib
from hashlib import blake2b
from threading import Lock

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.translation import get_language, override
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SCHEMA_KWARGS, SpectacularAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from ...conf import conf
from ...guards.cache import BoundedCache
from ...models.base import exclude_from_atomic_requests
from ...signals import CATALOGUE_KEY
from ...web.caching import set_cache_headers

#: Compressed documents of a process.
_MAX_CACHE_BYTES = 32 * 2**20

_documents: BoundedCache[tuple[object, ...], tuple[str, bytes]] = BoundedCache(
    "schema",
    1000,
    max_size=_MAX_CACHE_BYTES,
    max_value_size=2**22,
    measure=lambda kept: len(kept[1]),
)
_build_lock = Lock()


@method_decorator(exclude_from_atomic_requests, name="dispatch")
class SchemaView(SpectacularAPIView):  # type: ignore[misc, unused-ignore]
    """
    drf-spectacular's view, which builds each document once in a process.

    With ``SERVE_PUBLIC = False`` a document depends on the user, and is built for each request; so
    it is with settings, addresses or a version of the view's own.
    """

    @extend_schema(**SCHEMA_KWARGS)
    def get(self, request: Request, *args: object, **kwargs: object) -> HttpResponseBase:
        # A version that a client may ask for, if the portal names it.
        named = request.GET.get("version")
        asked = named if named in (api_settings.ALLOWED_VERSIONS or ()) else None
        version = self.api_version or request.version or asked
        own = (self.urlconf, self.patterns, self.custom_settings, version)
        response: HttpResponseBase
        if self.serve_public and own == (None,) * 4:
            response = self._answer_once_built(request)
        else:
            response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call] # drf-spectacular has no types
        is_open = all(type(each) is AllowAny for each in self.get_permissions())
        private = not (self.serve_public and is_open)
        set_cache_headers(request, response, private=private, vary=("Accept",), key=CATALOGUE_KEY)
        return response

    def _get_schema_response(self, request: Request) -> Response:
        response: Response = super()._get_schema_response(request)  # type: ignore[no-untyped-call] # drf-spectacular has no types
        if script := get_script_prefix()[:-1]:  # paths do not have it
            response.data.setdefault("servers", [{"url": script}])
        return response

    def _answer_once_built(self, request: Request) -> HttpResponseBase:
        language = request.GET.get("lang")
        if language not in dict(settings.LANGUAGES):
            language = get_language() or settings.LANGUAGE_CODE
        renderer = request.accepted_renderer
        place = get_script_prefix(), settings.ROOT_URLCONF, getattr(request, "urlconf", None)
        view = type(self), self.generator_class, tuple(conf.AUTHENTICATION_CLASSES)
        key = language, renderer.media_type, place, view
        document = _documents.get(key)
        if document is None:
            with _build_lock, override(language):
                document = _documents.get(key)  # another thread may just have built it
                if document is None:
                    built = self._get_schema_response(request)
                    content = force_bytes(renderer.render(built.data, renderer.media_type, {}))
                    tag = blake2b(content, digest_size=16).hexdigest()
                    document = f'W/"{tag}"', zlib.compress(content, 6)
                    _documents.add(key, document)
        etag, packed = document
        response = HttpResponse(zlib.decompress(packed), content_type=renderer.media_type)
        response["ETag"] = etag
        response["Content-Disposition"] = f'inline; filename="schema.{renderer.format}"'
        conditional = get_conditional_response(request, etag=etag, response=response)
        return response if conditional is None else conditional

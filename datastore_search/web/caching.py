"""
HTTP caching: ``ETag``, ``Last-Modified`` and ``Cache-Control`` of an answer.

Validators depend on the version of a resource and on the request, so that a repeated request is
answered without reading the records.

Source: RFC 9110, sections 8.8 and 13; W3C's Edge Architecture Specification.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import (
    add_never_cache_headers,
    get_conditional_response,
    patch_cache_control,
    patch_vary_headers,
)
from django.utils.http import http_date

from .. import __version__
from ..conf import conf
from ..models import Resource
from ..signals import CATALOGUE_KEY

#: ``Last-Modified`` has a resolution of one second: a resource that has changed in the last two
#: may change again within the same second.
_MIN_AGE = timedelta(seconds=2)

_SAFE_METHODS = ("GET", "HEAD")


class NotModified(Exception):
    """The client has the answer already."""

    def __init__(self, response: HttpResponseBase) -> None:
        super().__init__(response)
        self.response = response


@dataclass(frozen=True, slots=True)
class Validators:
    """
    The validators of an answer, and the caches that may store it.

    ``last_modified`` is None while the resource may change within the same second.  ``vary`` names
    the headers of the request on which the answer depends.  ``key`` is the answer's surrogate key.
    """

    etag: str
    last_modified: datetime | None
    private: bool
    vary: tuple[str, ...]
    key: str = ""

    @classmethod
    def from_resource(
        cls, resource: Resource, request: HttpRequest, *parts: object, vary: tuple[str, ...]
    ) -> Validators:
        """
        Build the validators of an answer from a described resource.

        The answer may depend on the request's address and on ``parts``, on nothing else.  Only
        answers to GET and HEAD have validators.

        Raises: ``NotModified`` when the client has this answer already.
        """
        if request.method not in _SAFE_METHODS:
            return cls("", None, resource.private, vary)
        is_settled = timezone.now() - resource.modified_at > _MIN_AGE
        last_modified = resource.modified_at if is_settled else None
        validators = cls("", last_modified, resource.private, vary, str(resource.pk))
        return validators._with_etag(request, resource.version, parts)

    @classmethod
    def from_state(
        cls, state: object, request: HttpRequest, *parts: object, vary: tuple[str, ...] = ()
    ) -> Validators:
        """
        Build the validators of an answer about public resources, which is the same for everyone.

        ``state`` changes with each of the resources.  There is no time of the last change, which
        goes back when a resource is deleted.

        Raises: ``NotModified`` when the client has this answer already.
        """
        validators = cls("", None, private=False, vary=vary, key=CATALOGUE_KEY)
        return validators._with_etag(request, state, parts)

    def _with_etag(self, request: HttpRequest, version: object, parts: object) -> Validators:
        tagged = [__version__, str(version), request.build_absolute_uri()]
        tagged.append(json.dumps(parts, sort_keys=True, default=str))
        digest = blake2b("\n".join(tagged).encode(errors="replace"), digest_size=16).hexdigest()
        validators = replace(self, etag=f'W/"{digest}"')
        seconds = None if self.last_modified is None else int(self.last_modified.timestamp())
        response = get_conditional_response(request, etag=validators.etag, last_modified=seconds)
        # Only the conditions of caches count, for no answer is changed by its reader.
        if response is not None and response.status_code == HTTPStatus.NOT_MODIFIED:
            validators.set_headers(response, request)
            raise NotModified(response)
        return validators

    def set_headers(self, response: HttpResponseBase, request: HttpRequest) -> None:
        """Set the headers of an answer; only a GET can be repeated with its validators."""
        if request.method in _SAFE_METHODS:
            response["ETag"] = self.etag
            if self.last_modified is not None:
                response["Last-Modified"] = http_date(self.last_modified.timestamp())
        set_cache_headers(request, response, private=self.private, vary=self.vary, key=self.key)


def has_body(request: HttpRequest) -> bool:
    """Return whether a request was sent with a body, which may have its parameters."""
    sent = getattr(request, "_request", request)  # that REST framework has wrapped
    is_declared = sent.META.get("CONTENT_LENGTH") not in {None, "", "0"}
    return is_declared or "HTTP_TRANSFER_ENCODING" in sent.META or bool(vars(sent).get("_body"))


def set_cache_headers(
    request: HttpRequest,
    response: HttpResponseBase,
    *,
    private: bool,
    vary: Iterable[str],
    key: str = "",
) -> None:
    """
    Allow the client, or all caches, to store an answer that they revalidate.

    A cache in front may keep a public and whole one with a ``key`` until this is purged.  Caches
    know an answer by its address, so they must not store one to a GET with a body.
    """
    patch_vary_headers(response, vary)
    is_get = request.method in _SAFE_METHODS
    if is_get and has_body(request):
        add_never_cache_headers(response)
        return
    patch_cache_control(
        response, max_age=0, must_revalidate=True, **{"private" if private else "public": True}
    )
    is_whole = not response.streaming or "Content-Length" in response
    if key and not private and is_get and is_whole and conf.SURROGATE_MAX_AGE:
        response["Surrogate-Control"] = f"max-age={conf.SURROGATE_MAX_AGE.total_seconds():.0f}"
        response["Surrogate-Key"] = key

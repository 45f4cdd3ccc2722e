"""
Validators: by what a client knows that an answer has not changed.

They are made of the version of a resource and of what was asked, so that a repeated request is
answered without a look at the records.

Source: RFC 9110, sections 8.8 and 13: ``ETag``, ``Last-Modified`` and the conditions on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import (
    get_conditional_response,
    patch_cache_control,
    patch_vary_headers,
)
from django.utils.http import http_date

from . import __version__
from .models import Resource

#: ``Last-Modified`` counts seconds: what may still change within the same one has none.
_SETTLED = timedelta(seconds=2)

_SAFE = ("GET", "HEAD")


class Unchanged(Exception):
    """The client has the answer already; ``response`` says so."""

    def __init__(self, response: HttpResponseBase) -> None:
        """Keep the response, a 304."""
        super().__init__(response)
        self.response = response


@dataclass(frozen=True, slots=True)
class Validators:
    """
    The validators of an answer, and who may keep it.

    ``modified`` is None while it may not be said; ``vary`` names the headers of the request on
    which the answer depends.
    """

    etag: str
    modified: datetime | None
    private: bool
    vary: tuple[str, ...]

    @classmethod
    def of(
        cls, resource: Resource, request: HttpRequest, *asked: object, vary: tuple[str, ...]
    ) -> Validators:
        """
        Make those of an answer from a described resource.

        The answer may depend on the request's address and on what was ``asked``, on nothing else.
        What is not asked for by GET or HEAD has no tag.
        """
        if request.method not in _SAFE:
            return cls("", None, resource.private, vary)
        parts = [__version__, str(resource.version)]
        parts += [request.build_absolute_uri(), json.dumps(asked, sort_keys=True, default=str)]
        digest = blake2b("\n".join(parts).encode(errors="replace"), digest_size=16).hexdigest()
        settled = timezone.now() - resource.modified_at > _SETTLED
        modified = resource.modified_at if settled else None
        return cls(f'W/"{digest}"', modified, resource.private, vary)

    def check(self, request: HttpRequest) -> None:
        """
        Stop when the client has this very answer.

        Raises: ``Unchanged``.
        """
        if request.method not in _SAFE:
            return
        modified = None if self.modified is None else int(self.modified.timestamp())
        response = get_conditional_response(request, etag=self.etag, last_modified=modified)
        # Of the conditions only those of caches count: no answer is to be changed by its reader.
        if response is not None and response.status_code == HTTPStatus.NOT_MODIFIED:
            self.mark(response, request)
            raise Unchanged(response)

    def mark(self, response: HttpResponseBase, request: HttpRequest) -> None:
        """Write the headers; only what was asked for by GET can be asked for again."""
        if request.method in _SAFE:
            response["ETag"] = self.etag
            if self.modified is not None:
                response["Last-Modified"] = http_date(self.modified.timestamp())
        keep(response, private=self.private, vary=self.vary)


def keep(response: HttpResponseBase, *, private: bool, vary: Iterable[str]) -> None:
    """Say that an answer may be kept, by one client or by all, and must be asked for again."""
    patch_cache_control(
        response, max_age=0, must_revalidate=True, **{"private" if private else "public": True}
    )
    patch_vary_headers(response, vary)

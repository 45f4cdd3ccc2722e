"""The view of a dump."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import get_language
from rest_framework import authentication
from rest_framework.request import Request

from ..api.authentication import check_may_read, check_sizes
from ..api.parameters import make_printable
from ..api.views import EnvelopeView, read_parameters
from ..field_types import is_storable
from ..guards.shares import Client
from ..messages.access import UnknownResource
from ..models import Resource
from ..search import ConsistentRead, Stream, with_consistent_read
from ..web.addresses import ResourceAddresses
from ..web.caching import NotModified, Validators
from ..web.streams import stream_response
from ..web.views import Question
from .dump import BLOCK_BYTES, Dump
from .formats import DEFAULT, GZIP_TYPE, DumpFormat, formats
from .parameters import DumpParameters, build_dump_query, complete_query
from .stored import open_stored, send_stored

#: The headers that a dump depends on: they have the token and the session.
_VARY = ("Authorization", "Cookie")

#: Characters that some file system forbids or interprets; the last change the direction of writing
#: and so could hide the extension.
_UNSAFE = re.compile(
    r'[\\/:*?"<>|%\s\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+'
)

#: A cache in front may keep a smaller file.
_MAX_CACHED_BYTES = BLOCK_BYTES

#: Without the extension; any file system takes names of 255 bytes.
_MAX_NAME_BYTES = 200


class SessionAuthentication(authentication.SessionAuthentication):
    def enforce_csrf(self, request: Request) -> None:
        """Check nothing: a dump changes nothing."""


class DumpView(EnvelopeView):
    """``datastore/dump/<id, alias or name>``: all records that a query finds, as a file."""

    http_method_names = ("get", "head", "options")
    help_action = "datastore_search"

    def get_authenticators(self) -> list[authentication.BaseAuthentication]:
        return [*super().get_authenticators(), SessionAuthentication()]

    def get(self, request: Request, name: str) -> HttpResponseBase:
        """
        Send the records; foreseeable failures are raised before the first block is sent.

        Raises: ``UnknownResource``, ``AccessDenied`` and what ``datastore_search`` raises.
        """
        self.sent = read_parameters(request, check_sizes(request))
        parameters = DumpParameters.parse(self.sent)
        if not is_storable(name):
            raise UnknownResource(resource=make_printable(name))
        kind, is_packed = formats[parameters.get("format", DEFAULT)], parameters.get("gzip", False)
        client = Client.from_request(request)
        try:
            response = None
            if kind.is_stored and kind.is_installed and parameters.keys() <= {"format"}:
                response = self._send_stored(kind, name, client)
            response = response or self._send_stream(parameters, kind, name, client)
        except NotModified as not_modified:
            return not_modified.response
        extension = f"{kind.extension}.gz" if is_packed else kind.extension
        response["Content-Disposition"] = _build_content_disposition(self._resource, extension)
        response["X-Content-Type-Options"] = "nosniff"
        if link := ResourceAddresses(request).build_link_header(self._resource.pk):
            response["Link"] = link
        if self._validators.etag:
            self._validators.set_headers(response, request)
        else:
            add_never_cache_headers(response)
        return response

    def describe_question(self) -> Question:
        return Question("dump", self.sent, [*DumpParameters.get_declared()])

    def _check(self, name: str, read: ConsistentRead) -> Resource:
        self._resource = read.resource
        check_may_read(self.request, read.resource, name)
        self._validators = Validators.from_resource(read.resource, self.request, vary=_VARY)
        return read.resource

    def _send_stored(self, kind: DumpFormat, name: str, client: Client) -> HttpResponseBase | None:
        """Send the stored file of a whole public resource; None where there is none."""
        if open_stored.entry is None:
            return None

        def check(read: ConsistentRead) -> Resource:
            read.verify()
            return self._check(name, read)

        resource = with_consistent_read(name, check, client=client)
        if resource.private:
            return None
        is_needed = self.request.method == "HEAD" or "Range" in self.request.headers
        stored = open_stored.entry(resource, kind, client, is_needed=is_needed)
        if stored is None:
            return None
        self._validators = replace(self._validators, etag=f'"{stored.digest}"')
        response = send_stored(self.request, stored, kind.content_type, self._validators, client)
        is_whole = response.status_code == HTTPStatus.OK and stored.file is not None
        if not is_whole or stored.size_bytes > _MAX_CACHED_BYTES:
            self._validators = replace(self._validators, key="")  # not for a cache in front
        if stored.sent_by[0] == "Location":  # which may expire, and has an ETag of its own
            self._validators = replace(self._validators, etag="")
        return response

    def _send_stream(
        self, parameters: Mapping[str, Any], kind: DumpFormat, name: str, client: Client
    ) -> HttpResponseBase:
        """Send the records while they are read."""
        request, is_packed = self.request, parameters.get("gzip", False)
        query = build_dump_query(parameters)

        def write_blocks(read: ConsistentRead) -> Generator[bytes]:
            resource = self._check(name, read)
            dump = Dump(
                read=read,
                query=complete_query(query, read.relation),
                infos=resource.infos[get_language()],
                parameters=parameters,
            )
            blocks = kind.write_blocks(dump, gzip=is_packed)
            # Of a HEAD everything is checked, and no record is read: its block is never sent.
            return (block for block in [b"\n"]) if request.method == "HEAD" else blocks

        stream = Stream.open(name, write_blocks, client)
        if request.method == "HEAD":
            stream.close()
        response = stream_response(
            request,
            stream,
            GZIP_TYPE if is_packed else kind.content_type,
            truncation_mark=b"" if is_packed else kind.truncation_mark,
        )
        if stream.size_bytes is not None and request.method != "HEAD":
            response["Content-Length"] = str(stream.size_bytes)
        return response


def _build_content_disposition(resource: Resource, extension: str) -> str:
    """Build the header with the resource's title or name, in ASCII and in Unicode (RFC 6266)."""
    safe = unicodedata.normalize("NFC", _UNSAFE.sub(" ", resource.local_title.text)).strip(" .")
    title = safe.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip(" .") or resource.name
    if title.isascii():
        return str(content_disposition_header(True, f"{title}.{extension}"))
    # In ASCII; ``slugify`` alone would drop the letter đ.
    plain = slugify(title.translate({ord("đ"): "d", ord("Đ"): "D"})) or resource.name
    encoded = quote(f"{title}.{extension}")
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{encoded}"

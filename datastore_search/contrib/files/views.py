"""The view that sends the file of a resource as it came."""

from __future__ import annotations

import logging
import mimetypes
import re
import uuid
from hashlib import blake2b
from typing import Final

from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from ...api.authentication import check_may_read, check_sizes
from ...api.views import EnvelopeView
from ...downloads.stored import send_stored
from ...downloads.views import SessionAuthentication
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...messages.availability import FileNotStored
from ...models import Resource
from ...search import open_snapshot
from ...web.caching import Validators
from .downloads.stored import open_stored_file
from .models import ResourceFile

logger = logging.getLogger(__name__)

#: Types that a browser may show as a page or run.
_ACTIVE: Final = re.compile(r"html|script|[/+]xml|svg|flash|rfc822|multipart")

_VARY: Final = ("Authorization", "Cookie")


class FileView(EnvelopeView):
    """
    ``dataset/<id>/resource/<id>/download/<name>``: the file of a resource, always to be saved.

    Source: CKAN's address; as there, the ids of the dataset and the name are not compared.
    """

    http_method_names = ("get", "head", "options")
    report_name = "file"
    schema = None  # the OpenAPI document has what programs ask

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [*super().get_authenticators(), SessionAuthentication()]

    def get(self, request: Request, resource_id: uuid.UUID, **_names: str) -> HttpResponseBase:
        """
        Send the file.

        Raises: ``UnknownResource``; ``AccessDenied``; ``FileNotStored`` when the storage fails.
        """
        check_sizes(request)
        client = Client.from_request(request)
        with open_snapshot(client) as session, session.watch_statements():
            resources = Resource.objects.using(session.connection.alias)
            if resource := resources.filter(pk=resource_id).first():
                # Before anything is said about its file.
                check_may_read(request, resource, str(resource_id))
            rows = ResourceFile.objects.using(session.connection.alias).filter(pk=resource_id)
            if resource is None or (row := rows.first()) is None:
                raise UnknownResource(resource=resource_id)
        name = str(row.file)
        digest = blake2b(name.encode(), digest_size=16).hexdigest()  # each file has its own name
        try:
            stored = open_stored_file(name, row.size_bytes, digest, may_redirect=False)
        except Exception as error:  # of any storage
            logger.exception("The file %s cannot be read.", name)
            raise FileNotStored from error
        if stored is None:
            logger.error("The file %s has another size.", name)
            raise FileNotStored
        validators = Validators(f'"{digest}"', row.stored_at, resource.private, _VARY)
        kind, encoding = mimetypes.guess_type(row.name)
        if kind is None or encoding or _ACTIVE.search(kind):
            kind = "application/octet-stream"
        response = send_stored(request, stored, kind, validators, client)
        response["Content-Disposition"] = content_disposition_header(True, row.name)
        response["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response["X-Content-Type-Options"] = "nosniff"
        validators.set_headers(response, request)
        return response

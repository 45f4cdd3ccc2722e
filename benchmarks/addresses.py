"""The targets of the requests: the portal and CKAN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from .calls import Call, send_call
from .requests import Request

_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Portal:
    """The portal, with a valid token."""

    server: str
    token: str

    def build_call(self, request: Request, resource_id: str) -> Call:
        """Make the call of a request, in its first form."""
        headers = {"Authorization": self.token, **request.headers}
        if request.dump:
            return Call(self.server, "GET", f"/en/datastore/dump/{resource_id}", headers)
        return _build_search(self.server, "/en/api/3/action", request, resource_id, headers)


@dataclass(frozen=True, slots=True)
class Ckan:
    """A CKAN at some URL with a public resource."""

    url: str
    resource_id: str

    def count_records(self) -> int:
        """
        Request the number of records of the resource.

        Raises: ``BenchmarkError`` when CKAN does not answer.
        """
        answer = send_call(self._build_search(Request("records", {"limit": 0})))
        return int(json.loads(answer.beginning)["result"]["total"])

    def build_call(self, request: Request) -> Call | None:
        """Make the call of a request; None for a request that CKAN does not have."""
        is_ours = request.dump or request.private or request.action != "datastore_search"
        return None if is_ours else self._build_search(request)

    def _build_search(self, request: Request) -> Call:
        parts = urlsplit(self.url)
        root = f"{parts.path.rstrip('/')}/api/action"
        return _build_search(parts.netloc, root, request, self.resource_id, request.headers)


def _build_search(
    server: str, root: str, request: Request, resource_id: str, headers: Mapping[str, str]
) -> Call:
    parameters = {"resource_id": resource_id, **request.parameters}
    path = f"{root}/{request.action}"
    if request.get:
        return Call(server, "GET", f"{path}?{urlencode(parameters)}", headers)
    return Call(server, "POST", path, {**headers, **_JSON}, json.dumps(parameters).encode())

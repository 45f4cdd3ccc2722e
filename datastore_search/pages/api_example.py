"""How to ask the API what a page shows."""

from __future__ import annotations

import shlex

from django.http import HttpRequest

from ..field_types import as_json
from ..models import Resource
from ..search import Query
from .addresses import link


def curl(request: HttpRequest, resource: Resource, query: Query) -> str:
    """Write the command that asks the API for the same records, ready for a shell."""
    address = request.build_absolute_uri(link(request, "action", "datastore_search"))
    lines = [f"curl -G {shlex.quote(address)}"]
    if resource.private:
        lines.append('-H "Authorization: $TOKEN"')
    lines += [
        f"--data-urlencode {shlex.quote(f'{name}={value}')}"
        for name, value in _parameters(resource, query).items()
    ]
    return " \\\n  ".join(lines)


def _parameters(resource: Resource, query: Query) -> dict[str, str]:
    filters = {condition.field: list(condition.values) for condition in query.filters}
    parameters = {
        "resource_id": str(resource.pk),
        "q": query.q,
        "filters": as_json(filters) if filters else "",
        "limit": str(query.limit),
        "offset": str(query.offset or ""),
    }
    return {name: value for name, value in parameters.items() if value}

"""System check of the authentication backend of organizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.utils.module_loading import import_string

from .permissions import OrganizationBackend


@register(Tags.security)
def check_backend(**_options: Any) -> Iterator[CheckMessage]:
    if not any(
        issubclass(import_string(path), OrganizationBackend)
        for path in settings.AUTHENTICATION_BACKENDS
    ):
        path = f"{OrganizationBackend.__module__}.{OrganizationBackend.__qualname__}"
        yield Warning(
            "The roles of the members of organizations have no effect.",
            hint=f"Add {path!r} to AUTHENTICATION_BACKENDS.",
            id="datastore_search.W026",
        )

"""System check of the authentication backend of organizations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import connections, router
from django.utils.module_loading import import_string

from .models import Membership
from .permissions import OrganizationBackend


@register(Tags.database)
def check_backend(
    databases: Sequence[str] | None = None, **_options: Any
) -> Iterator[CheckMessage]:
    alias = router.db_for_write(Membership)
    has_backend = any(
        issubclass(import_string(path), OrganizationBackend)
        for path in settings.AUTHENTICATION_BACKENDS
    )
    if has_backend or alias not in (databases or ()):
        return
    has_table = Membership._meta.db_table in connections[alias].introspection.table_names()
    if has_table and Membership.objects.using(alias).exists():
        path = f"{OrganizationBackend.__module__}.{OrganizationBackend.__qualname__}"
        yield Warning(
            "The roles of the members of organizations have no effect.",
            hint=f"Add {path!r} to AUTHENTICATION_BACKENDS.",
            id="datastore_search.W026",
        )

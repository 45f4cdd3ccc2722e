"""The addresses that other apps add."""

from __future__ import annotations

from importlib import import_module

from django.urls import URLPattern

from ..contributions import Table

#: Modules with ``urlpatterns``, whose names are in the namespace ``datastore_search``.
routes: Table[str] = Table("addresses", str)


def list_patterns() -> list[URLPattern]:
    """List the addresses; ``urls`` asks when it is loaded, after all apps have contributed."""
    return [pattern for name in routes for pattern in import_module(name).urlpatterns]

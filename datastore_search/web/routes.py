"""The addresses that contrib apps add to those of the app."""

from __future__ import annotations

from importlib import import_module

from django.urls import URLPattern

#: Modules with ``urlpatterns``, in the order of ``INSTALLED_APPS``.
routes: list[str] = []


def register(module: str) -> None:
    """Add the addresses of a module; their names are in the namespace ``datastore_search``."""
    if module not in routes:  # Django starts the apps again where a test installs others
        routes.append(module)


def list_patterns() -> list[URLPattern]:
    """List the addresses; ``urls`` asks when it is loaded, after all apps have registered."""
    return [pattern for name in routes for pattern in import_module(name).urlpatterns]

"""The app's configuration, and what the contrib apps around it have in common."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import ClassVar

from django.apps import AppConfig, apps
from django.core.signals import request_started
from django.db.models.signals import pre_migrate
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _


class DatastoreSearchConfig(AppConfig):
    """Register the app and its system checks."""

    default = True  # this module has two candidates
    name = "datastore_search"
    verbose_name = _("Datastore")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and what looks before a migration and a request."""
        import_module("datastore_search.checks")
        from .database.history import refuse_old_database
        from .database.sessions import close_lost_connections

        request_started.connect(close_lost_connections)
        pre_migrate.connect(refuse_old_database, sender=self)


class ContribAppConfig(AppConfig):
    """
    A contrib app: it enters what it adds into the tables of the core.

    System checks report what is missing: nothing fails at import.
    """

    default_auto_field = "django.db.models.BigAutoField"

    #: Contrib apps without which this one does not work, as dotted names.
    requires: ClassVar[tuple[str, ...]] = ()
    #: Packages without which this one does not work: the module, and the extra that brings it.
    packages: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """
        Name the app after its package.

        Its module has two candidates, this class and its own: without ``default`` Django would take
        neither, and say nothing.
        """
        cls.default = True
        cls.name = cls.__module__.removesuffix(".apps")
        app = cls.name.rpartition(".")[2]
        cls.label, cls.verbose_name = f"datastore_search_{app}", f"datastore_search: {app}"

    def ready(self) -> None:
        """Register the system checks, and enter the app into the tables if nothing is missing."""
        if self.list_missing_apps() or self.list_missing_packages():
            return
        if module_has_submodule(self.module, "checks"):
            import_module(f"{self.name}.checks")
        self.register()

    def register(self) -> None:
        """Enter what the app adds into the tables of the core."""

    def list_missing_apps(self) -> list[str]:
        """List the contrib apps that must be installed, too."""
        return [name for name in self.requires if not apps.is_installed(name)]

    def list_missing_packages(self) -> list[str]:
        """List the extras that must be installed."""
        missing = {extra for name, extra in self.packages.items() if find_spec(name) is None}
        return sorted(missing)

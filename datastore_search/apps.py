"""The app's configuration, and what the apps that add to it have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import ClassVar

from django.apps import AppConfig
from django.core.signals import request_started
from django.db.models.signals import pre_migrate
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from .contributions import Contribution


class DatastoreSearchConfig(AppConfig):
    default = True  # this module has two candidates
    name = "datastore_search"
    verbose_name = _("Tables")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and what looks before a migration and a request."""
        import_module("datastore_search.checks")
        from .database.server import refuse_old_database
        from .database.statements import close_lost_connections

        request_started.connect(close_lost_connections)
        pre_migrate.connect(refuse_old_database, sender=self)


class ContribAppConfig(AppConfig):
    """
    An app that adds to this one: a contrib app, or one of a portal.

    ``contribute`` declares all that it adds.  System checks report what is missing: nothing fails
    at import.
    """

    #: What the app has added; nothing while a package is missing.
    contributions: tuple[Contribution, ...] = ()

    #: Packages without which this one does not work: the module, and the extra that brings it.
    packages: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """
        Name the app after its package.

        Its module has two candidates, this class and its own: without ``default`` Django would take
        neither, and say nothing.
        """
        cls.default = True
        cls.name = vars(cls).get("name") or cls.__module__.removesuffix(".apps")
        if cls.name.startswith(f"{__package__}."):
            app = cls.name.rpartition(".")[2]
            cls.label = f"datastore_search_{app}"
            cls.verbose_name = getattr(cls, "verbose_name", app.title())
            cls.default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and add to the tables if nothing is missing."""
        if self.list_missing_packages():
            return
        if module_has_submodule(self.module, "checks"):
            import_module(f"{self.name}.checks")
        self.contributions = tuple(self.contribute())
        for each in self.contributions:
            each.enter()

    def contribute(self) -> Iterable[Contribution]:
        """List what the app adds; it imports here, as models cannot be imported before."""
        return ()

    def list_missing_packages(self) -> list[str]:
        missing = {extra for name, extra in self.packages.items() if find_spec(name) is None}
        return sorted(missing)

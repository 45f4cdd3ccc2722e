"""The app's configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DatastoreSearchConfig(AppConfig):
    """Register the app and its system checks."""

    name = "datastore_search"
    verbose_name = _("Datastore")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from . import checks  # noqa: F401, PLC0415 - importing it registers them

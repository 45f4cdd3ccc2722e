"""The parts of the admin that load files; autodiscovery registers ``loads`` and ``datastore``."""

from . import datastore, loads

__all__ = ["datastore", "loads"]

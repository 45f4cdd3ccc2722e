"""The dump of records as a file.  Source: CKAN ``datastore/dump``, section 13 of its semantics."""

from .views import DumpView

__all__ = ["DumpView"]

"""CKAN's ``datastore_search`` for Django portals, on PostgreSQL."""

__version__ = "1.0.0rc2"

"""CKAN's ``datastore_search`` for Django portals, on PostgreSQL."""

__version__ = "0.1.0"

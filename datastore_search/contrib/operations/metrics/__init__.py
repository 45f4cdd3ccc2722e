"""
Metrics for Prometheus: requests, loads and caches.

A portal includes ``urls``; nothing else imports this package.

Raises: ``ImproperlyConfigured`` when it is imported without the package that it needs.
"""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

if find_spec("prometheus_client") is None:
    raise ImproperlyConfigured(
        "datastore_search.contrib.operations.metrics needs a package: pip install 'datastore-search[metrics]'"
    )

"""
Health of the portal, for load balancers and orchestrators: whether it lives and is ready.

A portal includes ``urls``; nothing else imports this package.

Raises: ``ImproperlyConfigured`` when it is imported without the package that it needs.
"""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

if find_spec("health_check") is None:
    raise ImproperlyConfigured(
        "datastore_search.contrib.operations.health needs a package: pip install 'datastore-search[health]'"
    )

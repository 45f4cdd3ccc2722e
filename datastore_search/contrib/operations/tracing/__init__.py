"""
Spans of OpenTelemetry around the statements that read records.

A portal adds ``datastore_search.contrib.operations.tracing`` to ``INSTALLED_APPS``; nothing else imports this package.

Raises: ``ImproperlyConfigured`` when it is imported without the package that it needs.
"""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

if find_spec("opentelemetry") is None:
    raise ImproperlyConfigured(
        "datastore_search.contrib.operations.tracing needs a package: pip install 'datastore-search[tracing]'"
    )

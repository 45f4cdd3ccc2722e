"""
Spans of OpenTelemetry around the statements that read records.

A portal adds ``datastore_search.contrib.operations.tracing`` to ``INSTALLED_APPS``; nothing else
imports this package.
"""

"""
A server of the Model Context Protocol: tools with which agents find, describe and ask resources.

A portal includes ``urls``; nothing else imports this package.  ``tools`` is the table of tools.
Each tool runs an action of ``api`` for the user of the request, and ``answers`` writes its result
as text of a bounded size.  ``transport`` hands messages to the SDK.

Raises: ``ImproperlyConfigured`` when it is imported without the SDK.
"""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

if find_spec("mcp") is None:
    raise ImproperlyConfigured(
        "datastore_search.contrib.agents needs the SDK of the Model Context Protocol:"
        ' pip install "datastore-search[mcp]".'
    )

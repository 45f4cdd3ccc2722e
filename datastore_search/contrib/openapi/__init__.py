"""
The API as an OpenAPI 3.1 document, for a portal that has drf-spectacular.

``describe_actions`` is a preprocessing hook of drf-spectacular.  No other package imports this one,
so the app works without drf-spectacular.  ``parameters``, ``filters``, ``results``
and ``errors`` describe in JSON Schema what the modules of ``api`` do, ``examples`` are requests
with their answers, and ``operations`` makes operations of them.
"""

from .endpoints import describe_actions

__all__ = ["describe_actions"]

"""
The API as an OpenAPI 3.1 document, for a portal that has drf-spectacular.

``describe_actions`` is a preprocessing hook of drf-spectacular. ``parameters``, ``filters`` and
``errors`` describe in JSON Schema what the modules of ``api`` do; an action has the schema of its
result. ``examples`` are requests with their answers, and ``operations`` makes operations of them.
"""

from __future__ import annotations

from typing import Any


def describe_actions(endpoints: Any, **more: Any) -> Any:
    """Put the operations of the actions among the endpoints that drf-spectacular has found."""
    from .endpoints import describe_actions as describe  # noqa: PLC0415 - models must be loaded

    return describe(endpoints, **more)

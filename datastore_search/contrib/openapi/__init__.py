"""The API as an OpenAPI 3.1 document, for a portal that has drf-spectacular."""

from __future__ import annotations

from typing import Any


def describe_actions(endpoints: Any, **more: Any) -> Any:
    """Put the actions among the endpoints: one of drf-spectacular's ``PREPROCESSING_HOOKS``."""
    from .operations import describe_actions as describe  # noqa: PLC0415 - models must be loaded

    return describe(endpoints)

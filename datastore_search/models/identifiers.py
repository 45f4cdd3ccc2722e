"""Ids of resources as texts."""

from __future__ import annotations

import re
import uuid

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def parse_resource_id(name: str) -> uuid.UUID | None:
    """Read the id of a resource; None for what can only be an alias."""
    return uuid.UUID(name) if _UUID.fullmatch(name) else None


def normalize_name(name: str) -> str:
    """Spell an id as the database does, so that it has one spelling; an alias stays as it is."""
    return name.lower() if _UUID.fullmatch(name) else name

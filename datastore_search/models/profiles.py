"""Profiles of a load's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .loads import Load


@dataclass(frozen=True, slots=True)
class Profiles:
    """
    What the values of a table's fields are like, by name: see ``loading.profiles``.

    ``records`` were looked at, at the moment ``made``; not ``is_current`` when any have changed
    since.
    """

    fields: Mapping[str, Mapping[str, Any]]
    records: int
    made: datetime
    is_current: bool


def kept_profiles(load_id: int | None, *, using: str) -> Profiles | None:
    """Read the profiles of a load's table, which nothing that searches needs, from a database."""
    if load_id is None:
        return None
    wanted = Load.objects.using(using).filter(pk=load_id)
    found = wanted.values_list("profiles", "fingerprint", "rows").first()
    profiles, fingerprint, rows = found or ({}, "", 0)
    if not profiles:
        return None
    return Profiles(
        profiles["fields"],
        profiles["records"],
        datetime.fromisoformat(profiles["made"]),
        is_current=(profiles["of"], profiles["records"]) == (fingerprint, rows),
    )

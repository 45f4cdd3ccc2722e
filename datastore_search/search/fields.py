"""The fields of an answer: names, types, and entries of the data dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def describe_fields(
    fields: Iterable[tuple[str, str]], infos: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """
    Describe fields, given as name and type, with their entries of the data dictionary.

    Source: CKAN ``datastore_search``: a field has ``info`` only if it has an entry.
    """
    return [
        {"id": name, "type": kind, **({"info": infos[name]} if infos.get(name) else {})}
        for name, kind in fields
    ]

"""
Descriptions of resources, kept in the process between requests.

Only a resource that exists has an entry, under a name that it has.  So what clients send neither
fills the memory nor displaces what is used.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from ..filters import Clause
from ..models import Resource
from .relations import Relation

#: The alias of a database, and the id or an alias of a resource.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """A resource as it was when it was described, what is searched, and how to ask its version."""

    resource: Resource
    relation: Relation
    version: Clause


class Descriptions:
    """The descriptions that were used last."""

    def __init__(self, max_entries: int) -> None:
        """Begin with none."""
        self._max_entries = max_entries
        self._entries: OrderedDict[Key, Description] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Description | None:
        """Get the description of a resource; None if there is none yet."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def add(self, key: Key, description: Description) -> None:
        """Keep a description, in the place of the one that was used longest ago if need be."""
        with self._lock:
            self._entries[key] = description
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def remove(self, key: Key) -> None:
        """Remove the description of a resource, if there is one."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove all descriptions."""
        with self._lock:
            self._entries.clear()

"""
What an app adds to the tables of this one: actions, formats, sections, addresses.

A table is declared beside the code that reads it, such as ``downloads.formats.formats``.
``ContribAppConfig.contribute`` yields an app's entries for all tables, and ``manage.py
datastore_doctor --tables`` prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.dispatch import Signal

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Contribution:
    """
    What one app adds to one table: the kind and the names of the entries, and what enters them.

    ``enter`` may be called again: Django starts all apps anew where a test installs others.
    """

    kind: str
    names: tuple[str, ...]
    enter: Callable[[], object]


def get_path(entry: Any) -> str:
    """Return the dotted path of a function or a class, or of the class of an object."""
    kind = entry if hasattr(entry, "__qualname__") else type(entry)
    return f"{kind.__module__}.{kind.__qualname__}"


class Table(dict[str, T]):
    """Entries of one ``kind`` by name: the core's first, then in the order of the apps."""

    def __init__(self, kind: str, get_name: Callable[[T], str] = attrgetter("name")) -> None:
        super().__init__()
        self.kind, self._get_name = kind, get_name

    def add(self, *entries: T) -> None:
        """Add entries; one of an existing name takes the other's place."""
        self.update((self._get_name(entry), entry) for entry in entries)

    def entries(self, *entries: T) -> Contribution:
        names = tuple(map(self._get_name, entries))
        return Contribution(self.kind, names, partial(self.add, *entries))


class Hook(Generic[T]):
    """What only one app provides: ``entry`` is the core's own until an app contributes another."""

    def __init__(self, kind: str, entry: T) -> None:
        self.kind, self.entry = kind, entry

    def entries(self, entry: T) -> Contribution:
        return Contribution(self.kind, (get_path(entry),), partial(setattr, self, "entry", entry))


def receive(signal: Signal, receiver: Callable[..., Any], *senders: Any) -> Contribution:
    """Contribute a receiver of a signal, from some senders or from all."""

    def connect() -> None:
        for sender in senders or (None,):
            signal.connect(receiver, sender=sender)

    return Contribution("receivers of signals", (get_path(receiver),), connect)

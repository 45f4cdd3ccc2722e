"""The names of fields, made from a header's own words, and what is to be said of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ...exceptions.loads import (
    NamesMissing,
    NamesRepeated,
    NamesShortened,
    NamesTaken,
    NamesTidied,
    Remark,
)

#: Characters of a name at most.
NAME_LETTERS_MOST = 200

#: Characters of a label at most, as ``Field`` keeps it.
_LABEL_LETTERS_MOST = 500

#: The number of a record.
_TAKEN = "_id"
#: Blanks of all kinds, what controls a terminal, and what nobody sees.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\\s\u200b\u2060\ufeff]+")
_UNKEPT = re.compile("[\0\ud800-\udfff]")
_SHOWN = 20


def unique_names(header: Sequence[str]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty one is named after its place, a repeated one gets a number, and ``_id`` is taken.
    Names that only differ in case are different, as in CKAN.
    """
    taken = {_TAKEN}
    numbers: dict[str, int] = {}
    names = []
    for place, label in enumerate(header, start=1):
        wanted = _shortened(_tidied(label)) or f"field_{place}"
        name = wanted
        while name in taken:
            numbers[wanted] = numbers.get(wanted, 1) + 1
            name = _with_number(wanted, numbers[wanted])
        taken.add(name)
        names.append(name)
    return tuple(names)


def labels_of(header: Sequence[str]) -> tuple[str, ...]:
    """Give a header's own words as they can be kept: cut where they are a whole text."""
    return tuple(_UNKEPT.sub("�", label)[:_LABEL_LETTERS_MOST] for label in header)


def remarks_on(header: Sequence[str], names: Sequence[str]) -> tuple[Remark, ...]:
    """Say what was changed to make names of a header: one remark of each kind."""
    found: dict[type[Remark], list[str]] = {}
    for label, name in zip(header, names, strict=True):
        for kind in _changes(label, name):
            found.setdefault(kind, []).append(name)
    return tuple(
        kind(fields=_listed(found[kind]), most=NAME_LETTERS_MOST)
        if kind is NamesShortened
        else kind(fields=_listed(found[kind]))
        for kind in _KINDS
        if kind in found
    )


_KINDS = (NamesMissing, NamesTidied, NamesShortened, NamesRepeated, NamesTaken)


def _changes(label: str, name: str) -> list[type[Remark]]:
    tidied = _tidied(label)
    if not tidied:
        return [NamesMissing]
    shortened = _shortened(tidied)
    changes: list[type[Remark]] = []
    if tidied != unicodedata.normalize("NFC", label).strip(" "):
        changes.append(NamesTidied)
    if shortened != tidied:
        changes.append(NamesShortened)
    if name != shortened:
        changes.append(NamesTaken if shortened == _TAKEN else NamesRepeated)
    return changes


def _tidied(label: str) -> str:
    """Compose letters and their accents, and make all blanks ordinary ones."""
    composed = unicodedata.normalize("NFC", _UNKEPT.sub("�", label))
    return _BLANKS.sub(" ", composed).strip()


def _shortened(name: str) -> str:
    return name[:NAME_LETTERS_MOST].strip()


def _with_number(name: str, number: int) -> str:
    ending = f"_{number}"
    return name[: NAME_LETTERS_MOST - len(ending)] + ending


def _listed(names: Sequence[str]) -> str:
    """List names for a person: a few hundred would not be read."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown

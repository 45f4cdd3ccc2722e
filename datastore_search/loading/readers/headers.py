"""The names of fields, made from a header's own words, and what is to be said of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ...messages import Notice

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


def notices_on(header: Sequence[str], names: Sequence[str]) -> tuple[Notice, ...]:
    """Say what was changed to make names of a header: one notice of each kind."""
    found: dict[str, list[str]] = {}
    for label, name in zip(header, names, strict=True):
        for code in _changes(label, name):
            found.setdefault(code, []).append(name)
    return tuple(
        Notice(code, fields=_listed(found[code]), most=NAME_LETTERS_MOST)
        if code == "notice.names_shortened"
        else Notice(code, fields=_listed(found[code]))
        for code in _CODES
        if code in found
    )


_CODES = (
    "notice.names_missing",
    "notice.names_tidied",
    "notice.names_shortened",
    "notice.names_repeated",
    "notice.names_reserved",
)


def _changes(label: str, name: str) -> list[str]:
    tidied = _tidied(label)
    if not tidied:
        return ["notice.names_missing"]
    shortened = _shortened(tidied)
    changes: list[str] = []
    if tidied != unicodedata.normalize("NFC", label).strip(" "):
        changes.append("notice.names_tidied")
    if shortened != tidied:
        changes.append("notice.names_shortened")
    if name != shortened:
        changes.append("notice.names_reserved" if shortened == _TAKEN else "notice.names_repeated")
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

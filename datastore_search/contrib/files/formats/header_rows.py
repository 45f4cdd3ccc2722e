"""Make the names and labels of fields from a header."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..messages import Notice

MAX_NAME_LENGTH = 200

#: The length of ``Field.label``.
_MAX_LABEL_LENGTH = 500

#: The number of a record.
_RESERVED_NAME = "_id"
#: Blanks of all kinds, characters that control a terminal, and invisible ones.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\\s\u200b\u2060\ufeff]+")
#: What PostgreSQL cannot store.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MAX_LISTED_NAMES = 20
YEARS = range(1900, 2101)
_YEAR_TEXTS = frozenset(map(str, YEARS))


def is_year(text: str) -> bool:
    return text.strip() in _YEAR_TEXTS


def are_numbers_names(labels: Sequence[str]) -> bool:
    """Return whether numbers in a header are names: years, or numbers at equal distances."""
    if not all(map(str.isdecimal, labels)):
        return False
    # Two numbers are always at equal distances: they are names if the second follows the first.
    steps = [int(after) - int(before) for before, after in pairwise(labels)]
    is_regular = steps == [1] or (len(steps) > 1 and len({*steps}) == 1 and steps[0] != 0)
    return is_regular or all(map(is_year, labels))


def make_unique_names(header: Sequence[str]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty name is replaced by its position, a repeated one gets a number, and ``_id`` is
    reserved.  Names that differ only in case are different.

    Source: CKAN ``datastore_create``, whose field ids differ by case.
    """
    taken = {_RESERVED_NAME}
    numbers: dict[str, int] = {}
    names = []
    for position, label in enumerate(header, start=1):
        wanted = _make_name(label) or f"field_{position}"
        name = wanted
        while name in taken:
            numbers[wanted] = numbers.get(wanted, 1) + 1
            suffix = f"_{numbers[wanted]}"
            name = wanted[: MAX_NAME_LENGTH - len(suffix)] + suffix
        taken.add(name)
        names.append(name)
    return tuple(names)


def clean_labels(header: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a header as they can be stored: without what cannot, and shortened."""
    return tuple(UNSTORABLE.sub("�", label)[:_MAX_LABEL_LENGTH] for label in header)


def describe_name_changes(header: Sequence[str], names: Sequence[str]) -> Iterator[Notice]:
    """Describe names that are not those of the header, but for blanks and length."""
    wanted = [_make_name(label) for label in header]
    missing = [name for name, label in zip(names, wanted, strict=True) if not label]
    changed = [name for name, label in zip(names, wanted, strict=True) if label not in {"", name}]
    if missing:
        yield Notice("notice.names_missing", fields=_list_names(missing))
    if changed:
        yield Notice("notice.names_repeated", fields=_list_names(changed))


def _make_name(label: str) -> str:
    composed = unicodedata.normalize("NFC", UNSTORABLE.sub("�", label))
    return _BLANKS.sub(" ", composed).strip()[:MAX_NAME_LENGTH].strip()


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_LISTED_NAMES])
    return f"{shown}, …" if len(names) > _MAX_LISTED_NAMES else shown

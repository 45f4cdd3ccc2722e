"""The headers of a file's columns: the names of the fields, or their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any


def choose_headers(names: Sequence[str], infos: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """
    Choose the label of each field, or its name without one; all headers differ.

    A label that occurs twice is followed by the field's name.  ``infos`` has the data dictionary's
    entry of each field.
    """
    labels = [_read_label(infos.get(name, {})) or name for name in names]
    counts = Counter(labels)
    # A field without a label has its name.
    taken = {name for name, label in zip(names, labels, strict=True) if name == label}
    headers = []
    for name, label in zip(names, labels, strict=True):
        header = name
        if label != name:
            candidates = _iterate_candidates(label, name, is_unique=counts[label] == 1)
            header = next(each for each in candidates if each not in taken)
            taken.add(header)
        headers.append(header)
    return headers


def _read_label(info: Mapping[str, Any]) -> str:
    """Read a label, which is no text where a client has sent something else."""
    label = info.get("label")
    return label.strip() if isinstance(label, str) else ""


def _iterate_candidates(label: str, name: str, *, is_unique: bool) -> Iterator[str]:
    if is_unique:
        yield label
    yield f"{label} ({name})"
    yield from (f"{label} ({name}) {number}" for number in count(2))

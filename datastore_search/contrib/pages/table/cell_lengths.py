"""How long the texts of cells may be: cut at one length, so that only the longest lose letters."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import escape

#: Letters of a cell, and bytes of all cells of a page: of each row, if there are many rows.
MAX_CELL_LENGTH = 300
_MIN_CELL_LENGTH = 12
_MAX_TEXTS_BYTES = 10_000
_MAX_TEXTS_BYTES_PER_ROW = 200

#: The same for the labels in front of the values, on a narrow screen.
_MAX_LABEL_LENGTH = 40
_MIN_LABEL_LENGTH = 8
_MAX_LABELS_BYTES = 6_000
_MAX_LABELS_BYTES_PER_ROW = 120


def choose_text_length(texts: Sequence[str], row_count: int) -> int:
    """Choose the length of all texts of a page with a number of rows."""
    room = max(_MAX_TEXTS_BYTES, _MAX_TEXTS_BYTES_PER_ROW * row_count)
    return max(_choose_length(texts, MAX_CELL_LENGTH, room), _MIN_CELL_LENGTH)


def choose_label_length(labels: Sequence[str], row_count: int) -> int:
    """Choose the length of the labels of columns, each of which is in every row."""
    room = max(_MAX_LABELS_BYTES // max(row_count, 1), _MAX_LABELS_BYTES_PER_ROW)
    return max(_choose_length(labels, _MAX_LABEL_LENGTH, room), _MIN_LABEL_LENGTH)


def _choose_length(texts: Sequence[str], most: int, room: int) -> int:
    """Choose the length, up to ``most``, at which all texts have about ``room`` bytes."""
    cut = sorted((text[:most] for text in texts), key=len)
    byte_count = sum(len(escape(text).encode()) for text in cut)
    if byte_count <= room:
        return most
    room = room * sum(map(len, cut)) // byte_count
    for position, text in enumerate(cut):
        share = room // (len(cut) - position)
        if len(text) > share:
            return share
        room -= len(text)
    return most

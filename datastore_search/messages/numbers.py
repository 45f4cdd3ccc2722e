"""Numbers with the separators of the reader's language."""

from __future__ import annotations

from django.utils.formats import get_format

_GROUP_LENGTH = 3


def format_count(number: int) -> str:
    """
    Write a count in groups of three digits.

    Django's ``number_format`` groups no digits in languages whose formats name a separator but no
    length of groups, such as Arabic and Vietnamese.
    """
    return f"-{group_digits(str(-number))}" if number < 0 else group_digits(str(number))


def group_digits(digits: str) -> str:
    start = len(digits) % _GROUP_LENGTH
    groups = [digits[i : i + _GROUP_LENGTH] for i in range(start, len(digits), _GROUP_LENGTH)]
    return str(get_format("THOUSAND_SEPARATOR")).join(filter(None, [digits[:start], *groups]))

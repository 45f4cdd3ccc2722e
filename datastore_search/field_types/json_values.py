"""
JSON values, and how lists of them are parsed as a type.

Each type has three functions: for a value to be stored, where nothing may be lost; for an
operand of a filter, where a number that does not fit equals nothing; and for a bound that values
are compared with.  All return canonical JSON text.  A text in another notation (``1 March 2021``,
``{a,b}``) raises ``UnknownNotation``: PostgreSQL parses it.

Source: PostgreSQL's input syntax; CKAN ``datastore_search``, sections 5 and 6 of its semantics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import MAX_PREC, Context, Decimal
from typing import Any, NamedTuple, Never

#: A value as the JSON parser returns it; fractions are exact.
Json = str | int | Decimal | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: Parses texts of a type in PostgreSQL: canonical JSON for each, or None where it is refused.
Cast = Callable[[str, Sequence[str]], Sequence[str | None]]

#: Limits of PostgreSQL's ``numeric``, and so of numbers in its JSON.
MAX_DIGITS_BEFORE_POINT, MAX_DIGITS_AFTER_POINT = 131_072, 16_383

#: Does not round.
EXACT = Context(prec=MAX_PREC)

#: Longer texts are not sent to PostgreSQL to be parsed.
_MAX_TEXT_LENGTH = 100_000

#: For a number that is sent with an exponent: its digits when written without it.
MAX_NUMBER_DIGITS = 1_000

#: Of several values that are refused, so many are named.
MAX_REFUSED_VALUES = 20

#: Digits that all exponents of a value add when written out.  More are accepted where they are at
#: most ``_MAX_EXPANSION`` times the length of the value.
_MAX_ADDED_DIGITS = 100_000
_MAX_EXPANSION = 10

#: Decimal digits before the point that every double has room for.
_MAX_DOUBLE_DIGITS = 308


class NotOfType(ValueError):
    """A value cannot be of a type."""


class TooManyDigits(NotOfType):
    """The numbers of a value are too long when written without exponents."""


class RefusedValue(NamedTuple):
    """A value that cannot be of a type, and its ``position`` from 0."""

    position: int
    value: Json
    #: Whether its numbers are too long when written without exponents.
    has_many_digits: bool = False


class ValuesNotOfType(NotOfType):
    """Of several values, these cannot be of a type: the first ``MAX_REFUSED_VALUES`` at most."""

    def __init__(self, refused: Sequence[RefusedValue]) -> None:
        """``refused`` is not empty."""
        super().__init__(refused)
        self.refused = refused


class UnknownNotation(Exception):
    """A text may be of the type, but only PostgreSQL can parse it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def parse_values(
    type_name: str, parse: Callable[[Json], str | None], values_given: Iterable[Json], cast: Cast
) -> list[str | None]:
    """
    Parse values as a type; null stays null.

    ``parse`` is one of the type's three functions.  Texts that it cannot parse are sent to
    PostgreSQL with one statement.

    Raises: ``ValuesNotOfType``.
    """
    given = list(values_given)
    found: list[str | None] = []
    unparsed: dict[int, str] = {}
    refused: list[RefusedValue] = []
    for position, value in enumerate(given):
        try:
            found.append("null" if value is None else parse(value))
            continue
        except NotOfType as error:
            refused.append(RefusedValue(position, value, isinstance(error, TooManyDigits)))
        except UnknownNotation as text:
            unparsed[position] = text.text
        found.append(None)
        if len(refused) == MAX_REFUSED_VALUES:
            break
    if unparsed:
        texts = list(unparsed.values())
        for position, answer in zip(unparsed, cast(type_name, texts), strict=True):
            found[position] = answer
            if answer is None:
                refused.append(RefusedValue(position, given[position]))
    if refused:
        raise ValuesNotOfType(sorted(refused)[:MAX_REFUSED_VALUES])
    return found


def parse_texts(
    type_name: str, parse: Callable[[str], str], texts: Iterable[str], cast: Cast
) -> dict[str, str]:
    """Parse the texts of a file as a type: those that can be, with their canonical JSON."""
    found: dict[str, str] = {}
    unparsed: dict[str, str] = {}
    for text in texts:
        try:
            found[text] = parse(text)
        except NotOfType:
            continue
        except UnknownNotation as error:
            unparsed[text] = error.text
    if unparsed:
        answers = zip(unparsed, cast(type_name, list(unparsed.values())), strict=True)
        found |= {text: answer for text, answer in answers if answer is not None}
    return found


# JSON ---------------------------------------------------------------------------------------------


def dump_json(value: Json) -> str:
    """
    Write a value as JSON text for PostgreSQL, with characters and digits unchanged.

    Raises: ``NotOfType`` for what PostgreSQL cannot store: NUL, lone surrogates, numbers beyond
    ``numeric``, and nesting beyond Python's recursion limit.
    """
    try:
        return dump_json_as_sent(value, _dump_number)
    except RecursionError:
        raise NotOfType from None


def copy_json(value: Json, max_bytes: int) -> Any:
    """
    Copy a value as Django's ``JSONField`` stores and reads it.

    Raises: ``NotOfType`` for what ``dump_json`` refuses, numbers beyond a double, and more than
    ``max_bytes`` of JSON.
    """
    text = dump_json(value)
    copied = json.loads(text)
    try:
        json.dumps(copied, allow_nan=False)  # Python reads 1e400 as infinity
    except ValueError:
        raise NotOfType from None
    if len(text.encode()) > max_bytes:
        raise NotOfType
    return copied


def dump_json_as_sent(value: Json, write_number: Callable[[Decimal], str] = str) -> str:
    """
    Write a value as JSON text, with numbers of any size, or as ``write_number`` writes them.

    Raises: ``NotOfType`` for a text with NUL or a lone surrogate.
    """
    if isinstance(value, str):
        if not is_storable(value):
            raise NotOfType
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Decimal):
        return write_number(value)
    if isinstance(value, Mapping):
        members = [
            f"{dump_json_as_sent(name)}:{dump_json_as_sent(each, write_number)}"
            for name, each in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join([dump_json_as_sent(each, write_number) for each in value]) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return write_number(Decimal(value))
    return json.dumps(value)


def is_storable(value: object) -> bool:
    """Return whether no text of a JSON value, at any depth, has NUL or a lone surrogate."""
    texts, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, Mapping):
            left += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            left += each
    try:
        return b"\0" not in "".join(texts).encode()
    except UnicodeEncodeError:
        return False


def _dump_number(number: Decimal) -> str:
    if int(number.as_tuple().exponent) < -MAX_DIGITS_AFTER_POINT:
        number = EXACT.normalize(number)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -MAX_DIGITS_AFTER_POINT:
        raise NotOfType
    if number.adjusted() >= MAX_DIGITS_BEFORE_POINT:
        raise NotOfType
    return str(number).lower()


class Expansion:
    """Count the digits that exponents add when PostgreSQL writes a value such as 1E+1000."""

    def __init__(self) -> None:
        self._added = 0

    def dump_number(self, number: Decimal) -> str:
        if (text := str(number)).find("E") < 0:
            return _dump_number(number)
        exponent = number.as_tuple().exponent
        digits = max(number.adjusted(), 0) + 1 + max(-int(exponent), 0)
        if digits > MAX_NUMBER_DIGITS:
            raise TooManyDigits
        self._added += max(digits - len(text), 0)
        return _dump_number(number)

    def check(self, text: str) -> str:
        """Return the text of the value, unless it becomes many times as long when written out."""
        if self._added > max(_MAX_ADDED_DIGITS, _MAX_EXPANSION * len(text)):
            raise TooManyDigits
        return text


def convert_to_json(value: object) -> object:
    """Convert what JSON lacks: a decimal to the nearest double, any other value to text."""
    if isinstance(value, Decimal) and value.adjusted() < _MAX_DOUBLE_DIGITS:
        return float(value)
    return str(value)


def refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def parse_text_value(value: Json) -> str:
    """Parse a text; another value becomes its JSON text, a number with an exponent as 1e+20."""
    return dump_json(value if isinstance(value, str) else dump_json(value))


def parse_json_value(value: Json) -> str:
    expansion = Expansion()
    try:
        return expansion.check(dump_json_as_sent(value, expansion.dump_number))
    except RecursionError:
        raise NotOfType from None


def parse_storable(value: Json) -> str | None:
    try:
        return dump_json(value)
    except NotOfType:
        return None


def raise_unknown_notation(text: str) -> Never:
    """Leave a text to PostgreSQL, if it can be sent there."""
    if len(text) > _MAX_TEXT_LENGTH:
        raise NotOfType
    dump_json_as_sent(text)
    raise UnknownNotation(text)


def try_parse(value: Json, parse: Callable[[Json], str]) -> str | None:
    try:
        return parse(value)
    except (NotOfType, UnknownNotation):
        return None

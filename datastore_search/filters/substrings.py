"""
Candidates for a part of a text: the records that the index of substrings finds.

The index only finds candidates; the condition itself decides.  So a candidate too many costs time,
and one too few would be a wrong answer (``docs/decisions/0029``).
"""

from __future__ import annotations

import re

from psycopg import sql

from ..database.sessions import Clause
from ..database.substrings import SUBSTRINGS_TEXT
from ..field_types import dump_json_as_sent
from .words import GREEK_LETTER

#: Letters of a part that are looked up: PostgreSQL reads a list of records for each three.
MAX_INDEXED_LETTERS = 64

#: Without three letters or digits in a row, the index would have to be read as a whole.
_INDEXED = re.compile(r"[^\W_]{3}")

#: Letters whose lower case depends on those beside them, or is two letters, in some locale.
_UNSTABLE = re.compile("[Σσςİ]|.\u0307", re.DOTALL)

#: Letters that Turkish and Azerbaijani fold otherwise; ``pg_trgm`` does not, before PostgreSQL 18.
_LETTERS_I = re.compile("[iıIİ]")

#: Letters that may have accents.
_FOLDED_BESIDE_GREEK = re.compile("[^\0-@βγδζθκλμνξπτφχψΒΓΔΖΘΚΛΜΝΞΠΤΦΧΨ]")

#: What may follow a backslash in JSON.
_AFTER_BACKSLASH = re.compile("[bfnrtu0-9a-f]", re.IGNORECASE)

#: Any text, within a part; no stored text has it.
_ANY = "\0"


def build_pattern(part: str, *, ignores_case: bool = False) -> str | None:
    """
    Build a pattern that every record with a part of a text matches; None if none helps.

    With ``ignores_case``, of the folded letters of ``fold_case``, too.
    """
    known = _UNSTABLE.sub(_ANY, part)[:MAX_INDEXED_LETTERS]
    if ignores_case and GREEK_LETTER.search(part):
        known = _FOLDED_BESIDE_GREEK.sub(_ANY, known)
    elif ignores_case and not {*"ıİ"}.isdisjoint(part):
        known = _LETTERS_I.sub(_ANY, known)
    known = "".join(letter if _has_stable_case(letter) else _ANY for letter in known)
    if not _INDEXED.search(known):
        return None
    return f"%{'%'.join(map(_escape, known.split(_ANY)))}%"


def compile_candidates(pattern: str, *, ignores_case: bool) -> Clause:
    """Compile the condition of the index; the planner replaces the ``CASE`` by one pattern."""
    text = SUBSTRINGS_TEXT
    if not ignores_case:
        return Clause(sql.SQL("{} LIKE %s").format(text), [pattern])
    return Clause(
        sql.SQL("{} ILIKE CASE WHEN lower('I') = 'i' THEN %s ELSE %s END").format(text),
        [pattern, _LETTERS_I.sub("%", pattern)],
    )


def is_exact(pattern: str, word: str) -> bool:
    r"""
    Return whether only records with a word match its pattern, in every locale.

    A word may also match JSON's ``null``, or an escape and the letters after it: ``\nabc``.
    """
    is_json = word.lower() in "null" or _AFTER_BACKSLASH.match(word)
    return pattern == f"%{word}%" and not is_json and not _LETTERS_I.search(word)


def _has_stable_case(letter: str) -> bool:
    """Return whether all libraries fold a letter alike: old alphabets, and letters without case."""
    is_old = letter <= "\u052f" or "\u1e00" <= letter <= "\u1eff"
    return is_old or letter.lower() == letter.upper()


def _escape(text: str) -> str:
    """Write a text as in JSON, without quotes, and as a pattern of ``LIKE`` that means it alone."""
    return re.sub(r"([\\%_])", r"\\\1", dump_json_as_sent(text)[1:-1])

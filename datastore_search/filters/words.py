"""
Words as search vectors have them, their letters without diacritics, and parts of texts.

Python needs words where it counts, completes or marks them; ``sql/functions.sql`` decides.
"""

from __future__ import annotations

import re
import unicodedata
from typing import LiteralString

from psycopg import sql

from ..database.indexes import SUBSTRINGS_TEXT
from ..database.statements import Clause
from ..field_types import dump_json_as_sent

#: The letters of scripts that are written without blanks, as in ``datastore_search_split``: Thai,
#: Lao, Burmese, Khmer; kana, bopomofo, Han.
UNSPACED_LETTERS = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f\u1780-\u17b3\u17d7\u17dc"
    "\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U000323af"
)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED_LETTERS}](?:[{UNSPACED_LETTERS}]|[^\w\s])*")

#: Letters whose strokes and dots are not separate marks, and their plain letters.
STROKED, PLAIN = "đĐłŁøØħĦŧŦıðÐ", "dDlLoOhHtTidD"
_STROKES = str.maketrans(STROKED, PLAIN)

#: Diacritics of Latin, Greek and Cyrillic letters.  Marks of other scripts may be vowels.
_DIACRITICS: LiteralString = r"[\u0300-\u036f]"
_DIACRITICS_PATTERN = re.compile(_DIACRITICS)

#: The SQL of ``remove_diacritics``, over a text.
WITHOUT_DIACRITICS: LiteralString = (
    "normalize(translate(regexp_replace(normalize({}, NFD),"
    f" '{_DIACRITICS}', '', 'g'), '{STROKED}', '{PLAIN}'), NFC)"
)

#: SQL over ``{0}`` that ignores case and accents: ASCII has none, and σ and ß have two spellings.
WITHOUT_ACCENTS: LiteralString = (
    "CASE WHEN octet_length({0}) = char_length({0}) THEN lower({0})"
    f" ELSE replace(replace({WITHOUT_DIACRITICS.format('lower({0})')}, 'ς', 'σ'), 'ß', 'ss') END"
)

#: Greek letters, whose capitals have no accents.
GREEK_LETTER = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")


def fold_case(text: str, letters_i: str = "ıİ") -> LiteralString:
    """
    Choose the SQL over ``{0}`` that folds a text and those that it is compared with.

    Accents do not count in a text with a Greek letter, and İ and ı are i in one of ``letters_i``.
    """
    if GREEK_LETTER.search(text):
        return WITHOUT_ACCENTS
    lowered: LiteralString = "lower({0})"
    is_turkish = not set(letters_i).isdisjoint(text)
    return f"replace(replace({lowered}, 'i\u0307', 'i'), 'ı', 'i')" if is_turkish else lowered


def split_words(text: str) -> list[str]:
    """Split a text as PostgreSQL does: marks belong to the letters before them."""
    return "".join(letter if is_part_of_word(letter) else " " for letter in text).split()


def is_part_of_word(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


def count_words(word: str) -> int:
    """Count a word, or the words that ``datastore_search_phrase`` makes of one."""
    runs = _UNSPACED_RUN.findall(word)
    others = _UNSPACED_RUN.sub(" ", word).split()
    return len(others) + sum((len(_UNSPACED_LETTER.findall(run)) + 1) // 2 for run in runs)


def has_unspaced_letters(text: str) -> bool:
    """Return whether a text has letters of a script without blanks, in any compatible form."""
    if text.isascii():
        return False
    return _UNSPACED_LETTER.search(unicodedata.normalize("NFKC", text)) is not None


def remove_diacritics(text: str) -> str:
    if text.isascii():
        return text
    plain = _DIACRITICS_PATTERN.sub("", unicodedata.normalize("NFD", text)).translate(_STROKES)
    return unicodedata.normalize("NFC", plain)


# Parts of texts -----------------------------------------------------------------------------------

# The index of substrings only finds candidates; the condition itself decides.  So a candidate too
# many costs time, and one too few would be a wrong answer (``docs/decisions/0029``).

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
    # All libraries fold the letters of old alphabets alike, and those without case.
    known = "".join(
        letter
        if letter <= "\u052f" or "\u1e00" <= letter <= "\u1eff" or letter.lower() == letter.upper()
        else _ANY
        for letter in known
    )
    if not _INDEXED.search(known):
        return None
    # As in JSON, without quotes, and as a pattern of ``LIKE`` that means the text alone.
    parts = [dump_json_as_sent(each)[1:-1] for each in known.split(_ANY)]
    return "%".join(["", *[re.sub(r"([\\%_])", r"\\\1", each) for each in parts], ""])


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

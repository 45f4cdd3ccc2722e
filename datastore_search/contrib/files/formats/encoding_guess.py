"""
Guess the encoding of text that is not Unicode; where the evidence is weak, ask for it.

The words with bytes beyond ASCII are read in each encoding.  Against a reading count words that
texts do not have (two scripts, a capital or a sign in the middle) and words with letters that no
one language has; for it counts how usual its pairs of letters are, by chardet.  A reading is chosen
where it is clearly better than all that differ; with fewer words it must be better by more.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

from ..messages.failures import LoadFailed

_USUAL = "cp1252"
#: Python's names of encodings of Latin letters, and of other scripts.
_LATIN = (
    *(_USUAL, "cp1250", "cp1254", "cp1257", "cp1258", "iso8859-2", "iso8859-4", "iso8859-13"),
    *("iso8859-15", "mac-roman", "mac-latin2", "mac-turkish", "cp850", "cp852"),
)
_EAST_ASIAN = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
_NOT_LATIN = (
    *("cp1251", "cp1253", "cp1255", "cp1256", "cp874", "koi8-r", "koi8-u", "cp866"),
    *("iso8859-5", "iso8859-7", "mac-cyrillic", "mac-greek", *_EAST_ASIAN),
)

_WESTERN = "áçéíóúü"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
#: The letters of languages beyond ASCII; Western European ones with some of their neighbours'.
_LETTERS = {
    language: frozenset(letters)
    for language, letters in re.findall(
        r"(\w\w) (\w+)",
        f"ca {_WESTERN}àèïò  da {_WESTERN}åæøöäô  de {_WESTERN}äöß  es {_WESTERN}ñ"
        f"  fi {_WESTERN}åäöšž  fr {_WESTERN}àâæèêëîïñôœùûÿ  it {_WESTERN}àèìòù"
        f"  nl {_WESTERN}äåèêëïñö  pt {_WESTERN}àâãêôõ  sq {_WESTERN}ë  sv {_WESTERN}äåöàè"
        "  fo áðíóúýæø  is áéíóúðýþæö"
        "  cs áčďéěíňóřšťúůýž  hr çčćđšž  hu áéíóöőúüű  pl ąćęłńóśźż  ro âăîşţ  sl çčšž"
        "  sk áäčďéíĺľňóôŕšťúýž  et äõöüšž  lt ąčęėįšūųž  lv āčēģīķļņšūž  tr âçğıîöşüû"
        f"  be {_CYRILLIC}ёіў  mk {_CYRILLIC}ѓѕјљњќџ  ru {_CYRILLIC}ё  sr {_CYRILLIC}ђјљњћџ"
        f"  uk {_CYRILLIC}єіїґ  el αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ"
        "  vi àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    )
}
_ALPHABETS = frozenset(("LATIN", "GREEK", "CYRILLIC", "HALFWIDTH"))

#: Not all of many words are read.
_MAX_WORDS = 400
_MAX_WORD_LENGTH = 100
#: chardet compares no more.
_MAX_COMPARED_BYTES = 2**14
_MAX_SHOWN = 4
_MAX_SHOWN_WORDS = 3
_MAX_SHOWN_LENGTH = 60

#: A word: the second byte of a character is a digit or from “@” on.
_WORD = re.compile(rb"[0-9@-\xff]+")
#: Signs, units, quotations and contractions in Windows-1252, which say nothing of other letters.
_SIGN = re.compile(
    r"[§€£©®°²³½±×µ–—…“”«»•™]|[a-z]{0,2}m[²³]|µ[a-zA-Z]{1,2}|°[CF]|[nN][º°]|\d+[–—]\d+"
    r"|“[a-zA-Z\d]{2,}”?|[a-zA-Z\d]{2,}”|[A-Za-z]+’(?:t|ll|re|ve)"
    r"|(?:[CDJLMNSTcdjlmnst]|[Qq]u)’[AEIOUYHÉaeiouyhéê]\w{2,}"
)
#: Characters that no text has.
_CONTROLS = re.compile("[\x7f-\x9f\ue000-\uf8ff]")
#: Signs and places of letters that are hardly in any word.
_UNLIKELY = re.compile(
    "[¤¬¦¶†‡‰ˆ˜ˇ˘˙˛˝¨¯´¸¹³‗‹›ﬁﬂ\u2500-\u25ff]"
    r"|[^\W\d][‚„‘¿¡£¥¢€«]|»\w|^’\w|\w\w[cdlnrz]ã\b|èi|ñ[bcdfgklmnprstvz]|[ŕĺ](?![a-zčďľňšťž])|[ŕĺ][aeiouy]|ď[lnrv]|\b[ЪЬЫъьы]|ς\w"
)
_JOINERS = "’·\xad\u200c\u200d"

# The evidence for a reading is a logarithm; the figures come from tests/files/formats.
_PREFERENCES = {_USUAL: 0.4, "iso8859-4": -0.6, "mac-latin2": -0.5} | dict.fromkeys(
    ("cp850", "cp852", "cp866", "mac-turkish"), -0.2
)
#: That for a single language; each of several has a share of it.
_LANGUAGE_PREFERENCE = 1.5
_MIN_LIKENESS = 1e-4
#: Where chardet finds too few characters of two bytes to compare them.
_SHORT_LIKENESS = 0.02
_MIN_USUAL_LIKENESS = 0.008
_MAX_ODD_SHARE = 0.3
_MAX_BAD_SHARE = 0.1
_MAX_USUAL_BAD_SHARE = 0.2
_MIN_MARGIN = 0.35
_MIN_MARGIN_OF_ONE = 1.2


@dataclass(frozen=True, slots=True)
class _Reading:
    """Words as an encoding reads them, and the evidence for it."""

    encoding: str
    words: Sequence[str]
    evidence: float
    is_plausible: bool


def guess_encoding(lines: bytes, languages: Collection[str] = ()) -> str:
    """
    Guess the encoding of lines, with some preference for languages.

    Raises: ``LoadFailed`` with ``file.unknown_encoding``, ``file.ambiguous_encoding``.
    """
    words = [
        word
        for word in dict.fromkeys(_WORD.findall(lines))
        if not word.isascii() and not _SIGN.fullmatch(word.decode(_USUAL, errors="replace"))
    ]
    if not words:
        return _USUAL
    sample = words[:: len(words) // _MAX_WORDS + 1]
    readings = sorted(_weigh_readings(sample, lines, languages), key=lambda each: -each.evidence)
    if not readings:
        raise LoadFailed("file.unknown_encoding")
    best = readings[0]
    others = [each.evidence for each in readings if each.words != best.words]
    margin = _MIN_MARGIN + _MIN_MARGIN_OF_ONE / sqrt(len(sample))
    if best.is_plausible and all(best.evidence - other >= margin for other in others):
        return best.encoding
    raise LoadFailed("file.ambiguous_encoding", readings=_describe_readings(readings))


def name_encoding(encoding: str) -> str:
    """Name an encoding as users know it, and as they can choose it."""
    return re.sub(r"cp(?=125\d)", "Windows-", encoding)


def _describe_readings(readings: Sequence[_Reading]) -> str:
    """List encodings with some of the words in which they differ."""
    shown: dict[Sequence[str], str] = {}
    for each in readings:
        shown.setdefault(each.words, name_encoding(each.encoding))
    texts = list(shown)[:_MAX_SHOWN]
    rows = [row for row in zip(*texts, strict=True) if len({*row}) > 1] or list(
        zip(*texts, strict=True)
    )
    return ", ".join(
        f"“{shown[text]}” ({_shorten(', '.join(words[:_MAX_SHOWN_WORDS]))})"
        for text, words in zip(texts, zip(*rows, strict=True), strict=True)
    )


def _shorten(text: str) -> str:
    return re.sub("[“”()\x00-\x1f\x7f-\x9f]", "", text)[:_MAX_SHOWN_LENGTH]


# Evidence -----------------------------------------------------------------------------------------


def _weigh_readings(
    words: Sequence[bytes], lines: bytes, languages: Collection[str]
) -> list[_Reading]:
    decoded = {
        encoding: found
        for encoding in (*_LATIN, *_NOT_LATIN)
        if (found := _decode_words(words, encoding))
    }
    likely = {each: found for each, found in decoded.items() if _is_likely(each, found)}
    # Where none is, the user sees what the usual ones make of the words.
    read = likely or {each: found for each, found in decoded.items() if each in _LATIN}
    likeness = _compare_encodings(b"\n".join([*words, lines]), read)
    return [
        _weigh_reading(encoding, found, likeness[encoding], languages)
        for encoding, found in read.items()
    ]


def _decode_words(words: Sequence[bytes], encoding: str) -> tuple[str, ...] | None:
    """Decode words, each up to a length; None where they are not in the encoding."""
    try:
        text = b"\n".join(words).decode(encoding)
    except UnicodeDecodeError:
        return None
    if _CONTROLS.search(text):
        return None
    return tuple(word[:_MAX_WORD_LENGTH] for word in unicodedata.normalize("NFC", text).split("\n"))


def _is_likely(encoding: str, words: Sequence[str]) -> bool:
    """Return whether few words are odd, and most are in the script of the encoding."""
    if sum(map(_is_odd, words)) > _MAX_ODD_SHARE * len(words):
        return False
    return encoding in _LATIN or 2 * sum(map(_is_in_other_script, words)) >= len(words)


def _compare_encodings(text: bytes, encodings: Collection[str]) -> Mapping[str, float]:
    """Return how usual the pairs of letters of a text are in each encoding."""
    import chardet  # noqa: PLC0415 - a fourth of what the process that reads has to import

    likeness = dict.fromkeys(encodings, _MIN_LIKENESS)
    if encodings:
        for found in chardet.detect_all(
            text[:_MAX_COMPARED_BYTES],
            ignore_threshold=True,
            compat_names=False,
            include_encodings=encodings,
            no_match_encoding=next(iter(encodings)),
        ):
            if found["encoding"]:
                name = codecs.lookup(found["encoding"]).name
                likeness[name] = max(found["confidence"], _MIN_LIKENESS)
    if all(likeness.get(each, 0) <= _MIN_LIKENESS for each in _EAST_ASIAN):
        likeness |= dict.fromkeys(likeness.keys() & _EAST_ASIAN, _SHORT_LIKENESS)
    return likeness


def _weigh_reading(
    encoding: str, words: Sequence[str], likeness: float, languages: Collection[str]
) -> _Reading:
    letters = [
        {letter for letter in word.lower() if letter > "\x7f" and _is_in_alphabet(letter)}
        for word in words
    ]
    unknown, is_foreign = min(
        (sum(not each <= known for each in letters), language not in languages)
        for language, known in _LETTERS.items()
    )
    odd = sum(map(_is_odd, words))
    bad = max(unknown, odd)
    share = _MAX_USUAL_BAD_SHARE if encoding == _USUAL else _MAX_BAD_SHARE
    preference = _PREFERENCES.get(encoding, 0.0)
    if not is_foreign:
        preference += _LANGUAGE_PREFERENCE / len(languages)
    is_plausible = (
        likeness >= _MIN_USUAL_LIKENESS
        and odd <= _MAX_BAD_SHARE * len(words)
        and unknown <= share * len(words)
    )
    return _Reading(encoding, words, log(likeness) - bad + preference, is_plausible)


# Words --------------------------------------------------------------------------------------------


def _is_in_other_script(word: str) -> bool:
    return any(letter.isalpha() and _find_script(letter) != "LATIN" for letter in word)


def _is_odd(word: str) -> bool:
    """Return whether a word mixes scripts, or has a capital or a sign in its middle."""
    return bool(_UNLIKELY.search(word)) or any(
        _is_odd_letter(before, letter, after)
        for before, letter, after in zip(" " + word, word, word[1:] + " ", strict=False)
        if not (before + letter).isascii()
    )


def _is_odd_letter(before: str, letter: str, after: str) -> bool:
    if unicodedata.category(letter) == "Mn":
        is_base = before.isalpha() or unicodedata.category(before)[0] == "M"
        return not is_base or _is_in_alphabet(before)
    if not letter.isalpha():
        is_sign = not letter.isascii() and letter not in _JOINERS
        return is_sign and _is_in_alphabet(before) and after.isalpha()
    if before.isdigit():
        return _is_in_alphabet(letter)
    if not before.isalpha():
        return False
    scripts = {_find_script(before), _find_script(letter)}
    if len(scripts) > 1:
        return "CJK" not in scripts or before.islower() or letter.islower()
    return letter.isupper() and (before.islower() or after.islower())


def _is_in_alphabet(letter: str) -> bool:
    return letter.isalpha() and _find_script(letter) in _ALPHABETS


@lru_cache(maxsize=4096)
def _find_script(letter: str) -> str:
    script = unicodedata.name(letter, "?").partition(" ")[0]
    return "CJK" if re.match("CJK|FULLWIDTH|HANGUL|HIRAGANA|KATAKANA", script) else script

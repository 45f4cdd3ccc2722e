"""
Detect the encoding of a text file, and convert it to UTF-8.

Byte order marks come first, then UTF-16 without a mark, then UTF-8 over the whole file.  A file
that is UTF-8 but for some lines is refused.  Otherwise the encoding is guessed where the evidence
is strong, and asked for where it is not.

To guess, the words with bytes beyond ASCII are read in each encoding.  Against a reading count
words that texts do not have (two scripts, a capital or a sign in the middle) and words with letters
that no one language has; for it counts how usual its pairs of letters are, by chardet.  A reading
is chosen where it is clearly better than all that differ; with fewer words it must be better by
more.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import chain
from math import log, sqrt
from pathlib import Path
from typing import NamedTuple

from ..messages import LoadFailed, Notice
from .options import ReadOptions, find_codec

_BLOCK_BYTES = 2**20
_SAMPLE_BYTES = 2**18
_UTF8 = "utf-8"
#: A file is UTF-8 with damage if fewer than one line in this number is damaged.
_LINES_PER_DAMAGE = 8
_MARK = "\ufeff"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Its tones stand behind their vowels.
_VIETNAMESE = "cp1258"
#: Control characters that texts do not have.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x7f]")

# The guess.
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
#: Characters that no word has.
_UNREADABLE = re.compile("[\x7f-\x9f\ue000-\uf8ff]")
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


def convert_to_utf8(
    path: Path, options: ReadOptions, folder: Path
) -> tuple[Path, tuple[Notice, ...]]:
    """
    Return a file in UTF-8 without a mark, itself or a copy in a folder, and the notices of it.

    Raises: ``LoadFailed`` with ``file.empty``, ``file.binary``, ``file.nul``,
    ``file.damaged_utf8``, ``file.unknown_encoding``, ``file.ambiguous_encoding``; where the
    encoding is chosen, ``option.unknown_encoding`` and ``file.wrong_encoding``.
    """
    with path.open("rb") as file:
        start = file.read(_BLOCK_BYTES)
    if not start.strip():
        raise LoadFailed("file.empty")
    if options.encoding:
        chosen = find_codec(options.encoding)
        failure = LoadFailed("file.wrong_encoding", encoding=options.encoding)
        return _decode_file(path, chosen, folder, failure), ()
    if encoding_name := _detect_unicode(start):
        return _decode_file(path, encoding_name, folder, LoadFailed("file.unknown_encoding")), ()
    line = _find_line_not_utf8(path)
    if line is None:
        return path, ()
    # Encodings differ in the lines with more than ASCII; a long line is cut.
    lines: list[bytes] = []
    size = 0
    with path.open(encoding="latin-1") as file:
        while size < _SAMPLE_BYTES and (text := file.readline(_SAMPLE_BYTES)):
            if not text.isascii():
                lines.append(text.encode("latin-1"))
                size += len(text)
    sample = b"".join(lines)
    if _CONTROLS.search(sample.decode("latin-1")):
        raise LoadFailed("file.binary")
    # In another encoding, hardly any line is UTF-8.
    damaged = sum("�" in each.decode(errors="replace") for each in lines)
    if damaged * _LINES_PER_DAMAGE < len(lines):
        raise LoadFailed("file.damaged_utf8", line=line)
    guess = guess_encoding(sample, options.languages)
    copy = _decode_file(path, guess, folder, LoadFailed("file.unknown_encoding"))
    return copy, (Notice("notice.encoding_guessed", encoding=_name_encoding(guess)),)


# Detection ----------------------------------------------------------------------------------------


def _detect_unicode(start: bytes) -> str | None:
    """Return the encoding of a file that begins with a mark, or like UTF-16; None for others."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if b"\0" not in start:
        return None
    whole = start[: len(start) // 2 * 2]
    for encoding, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        # All is text, and only the upper bytes of characters are ever zero.
        if 0 in whole[first::2] and 0 not in whole[1 - first :: 2]:
            text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(whole)
            is_text = "�" not in text and not _CONTROLS.search(text)
            if is_text and ("\n" in text or "\r" in text):
                return encoding
    if _CONTROLS.search(start.replace(b"\0", b"").decode("latin-1")):
        raise LoadFailed("file.binary")
    return None


def _find_line_not_utf8(path: Path) -> int | None:
    """Read a whole file, and return the first line that is not UTF-8, None if all of them are."""
    decoder, end, found = codecs.getincrementaldecoder(_UTF8)(), 0, None
    with path.open("rb") as file:
        for block in chain(iter(partial(file.read, _BLOCK_BYTES), b""), [b""]):
            if b"\0" in block:
                raise LoadFailed("file.nul", line=_find_line(path, end + block.index(b"\0")))
            end += len(block)
            if found is None:
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    found = end - len(error.object) + error.start
    return None if found is None else _find_line(path, found)


def _find_line(path: Path, offset: int) -> int:
    """Find the line that has a byte, whatever ends the lines."""
    line, rest = 1, b""
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK_BYTES, offset - file.tell())):
            text = rest + block
            rest = b"\r" if text.endswith(b"\r") else b""
            line += text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n") - len(rest)
    return line + len(rest)


# Conversion ---------------------------------------------------------------------------------------


def _decode_file(path: Path, encoding: str, folder: Path, failure: Exception) -> Path:
    """Write a copy in UTF-8; in Vietnamese, letters and their tones become one character."""
    copy, has_begun = folder / "text", False
    try:
        with (
            path.open(encoding=encoding, newline="") as file,
            copy.open("w", encoding=_UTF8, newline="") as target,
        ):
            while text := file.read(_BLOCK_BYTES):
                if encoding == _VIETNAMESE:  # in whole lines, unless they are very long
                    text = unicodedata.normalize("NFC", text + file.readline(_BLOCK_BYTES))
                text = text if has_begun else text.lstrip(_MARK)
                has_begun = has_begun or bool(text)
                before, nul, _rest = text.partition("\0")
                target.write(before)
                if nul:
                    target.flush()
                    raise LoadFailed("file.nul", line=_find_line(copy, copy.stat().st_size))
    except UnicodeError as error:
        raise failure from error
    if not copy.stat().st_size:
        raise LoadFailed("file.empty")
    return copy


# The guess ----------------------------------------------------------------------------------------


class _Reading(NamedTuple):
    encoding: str
    words: Sequence[str]
    evidence: float
    is_plausible: bool

    @classmethod
    def weigh(
        cls, encoding: str, words: Sequence[str], likeness: float, languages: Collection[str]
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
        return cls(encoding, words, log(likeness) - bad + preference, is_plausible)


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
    decoded: dict[str, tuple[str, ...]] = {}
    for encoding in (*_LATIN, *_NOT_LATIN):
        with suppress(UnicodeDecodeError):
            text = unicodedata.normalize("NFC", b"\n".join(sample).decode(encoding))
            if not _UNREADABLE.search(text):
                decoded[encoding] = tuple(word[:_MAX_WORD_LENGTH] for word in text.split("\n"))
    # In a likely reading few words are odd, and most are in the script of the encoding.
    likely = {
        encoding: found
        for encoding, found in decoded.items()
        if sum(map(_is_odd, found)) <= _MAX_ODD_SHARE * len(found)
        and (encoding in _LATIN or 2 * sum(map(_is_in_other_script, found)) >= len(found))
    }
    # Where none is, the user sees what the usual ones make of the words.
    read = likely or {each: found for each, found in decoded.items() if each in _LATIN}
    if not read:
        raise LoadFailed("file.unknown_encoding")
    likeness = _compare_encodings(b"\n".join([*sample, lines]), read)
    readings = sorted(
        (_Reading.weigh(each, found, likeness[each], languages) for each, found in read.items()),
        key=lambda reading: -reading.evidence,
    )
    best = readings[0]
    others = [each.evidence for each in readings if each.words != best.words]
    margin = _MIN_MARGIN + _MIN_MARGIN_OF_ONE / sqrt(len(sample))
    if best.is_plausible and all(best.evidence - other >= margin for other in others):
        return best.encoding
    raise LoadFailed("file.ambiguous_encoding", readings=_describe_readings(readings))


def _name_encoding(encoding: str) -> str:
    """Name an encoding as users know it, and as they can choose it."""
    return re.sub(r"cp(?=125\d)", "Windows-", encoding)


def _describe_readings(readings: Sequence[_Reading]) -> str:
    """List encodings with some of the words in which they differ."""
    shown: dict[Sequence[str], str] = {}
    for each in readings:
        shown.setdefault(each.words, _name_encoding(each.encoding))
    texts = list(shown)[:_MAX_SHOWN]
    all_rows = [*zip(*texts, strict=True)]
    rows = [row for row in all_rows if len({*row}) > 1] or all_rows
    listed = []
    for text, words in zip(texts, zip(*rows, strict=True), strict=True):
        some = re.sub("[“”()\x00-\x1f\x7f-\x9f]", "", ", ".join(words[:_MAX_SHOWN_WORDS]))
        listed.append(f"“{shown[text]}” ({some[:_MAX_SHOWN_LENGTH]})")
    return ", ".join(listed)


# Evidence -----------------------------------------------------------------------------------------


def _compare_encodings(text: bytes, encodings: Collection[str]) -> dict[str, float]:
    """Return how usual the pairs of letters of a text are in each encoding."""
    import chardet  # noqa: PLC0415 - a fourth of what the process that reads has to import

    likeness = dict.fromkeys(encodings, _MIN_LIKENESS)
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


# Words --------------------------------------------------------------------------------------------


def _is_in_other_script(word: str) -> bool:
    return any(letter.isalpha() and _find_script(letter) != "LATIN" for letter in word)


def _is_odd(word: str) -> bool:
    """Return whether a word mixes scripts, or has a capital or a sign in its middle."""
    is_odd = bool(_UNLIKELY.search(word))
    for before, letter, after in zip(" " + word, word, word[1:] + " ", strict=False):
        if is_odd or (before + letter).isascii():
            continue
        if unicodedata.category(letter) == "Mn":
            is_base = before.isalpha() or unicodedata.category(before)[0] == "M"
            is_odd = not is_base or _is_in_alphabet(before)
        elif not letter.isalpha():
            is_sign = not letter.isascii() and letter not in _JOINERS
            is_odd = is_sign and _is_in_alphabet(before) and after.isalpha()
        elif before.isdigit():
            is_odd = _is_in_alphabet(letter)
        elif before.isalpha():
            scripts = {_find_script(before), _find_script(letter)}
            if len(scripts) > 1:
                is_odd = "CJK" not in scripts or before.islower() or letter.islower()
            else:
                is_odd = letter.isupper() and (before.islower() or after.islower())
    return is_odd


def _is_in_alphabet(letter: str) -> bool:
    return letter.isalpha() and _find_script(letter) in _ALPHABETS


@lru_cache(maxsize=4096)
def _find_script(letter: str) -> str:
    script = unicodedata.name(letter, "?").partition(" ")[0]
    return "CJK" if re.match("CJK|FULLWIDTH|HANGUL|HIRAGANA|KATAKANA", script) else script

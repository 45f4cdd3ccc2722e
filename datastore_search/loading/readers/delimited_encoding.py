"""
The characters of a text file: which encoding it is in, and a copy in UTF-8 where it is in another.

Byte order marks come first, then UTF-16 without a mark, then UTF-8 over the whole file.  What is
left is chardet's guess among the encodings that such files are written in; of a few words in
Vietnamese it is not sure, but they have rules.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from .options import ReadOptions
from .staging import StagingArea

_BLOCK_BYTES = 2**20
_SAMPLE_BYTES = 2**18
_UTF8 = "utf-8"
#: Of so many lines one may be damaged for the others to count.
_MOSTLY = 8
_MARK = "\ufeff"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_VIETNAMESE = "cp1258"
#: What files that are no Unicode are written in; a guess among all errs on short files.
_LEGACY = (
    *(f"Windows-{page}" for page in range(1250, 1259)),
    *("cp932", "gb18030", "big5", "cp949", "koi8_r", "cp874"),
)

_LINE_END = re.compile(rb"[\r\n]")

#: Characters that texts do not have.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x7f]")
#: Python's own codecs that write no text file.
_NO_FILES = frozenset(("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"))


@dataclass(frozen=True, slots=True)
class Text:
    """A text file in UTF-8 without a mark, and what is to be said of it."""

    path: Path
    notices: tuple[Notice, ...] = ()


def as_utf8(path: Path, options: ReadOptions, place: StagingArea) -> Text:
    """
    Give a file in UTF-8: itself, or a copy in the stage's folder.

    Raises: ``LoadFailed`` with ``file.empty``, ``file.binary``, ``file.damaged_utf8``,
    ``file.unknown_encoding``; where the encoding is chosen, ``option.unknown_encoding`` and
    ``file.wrong_encoding``.
    """
    with path.open("rb") as file:
        start = file.read(_BLOCK_BYTES)
    if not start.strip():
        raise LoadFailed("file.empty")
    if options.encoding:
        chosen = _codec(options.encoding)
        return Text(
            _decoded(
                path, chosen, place, LoadFailed("file.wrong_encoding", encoding=options.encoding)
            )
        )
    if told := _told(start):
        return Text(_decoded(path, told, place, LoadFailed("file.unknown_encoding")))
    line = _line_not_utf8(path)
    if line is None:
        return Text(path)
    guess = _guessed(_sample(path), line)
    copy = _decoded(path, guess, place, LoadFailed("file.unknown_encoding"))
    return Text(copy, (Notice("notice.encoding_guessed", encoding=_windows_name(guess)),))


def _codec(name: str) -> str:
    """
    Look an encoding up by its name.

    Raises: ``LoadFailed`` with ``option.unknown_encoding``.
    """
    try:
        found = codecs.lookup(name.strip()).name
        "".encode(found)  # codecs that make bytes of bytes are refused here
    except (LookupError, ValueError) as error:
        raise LoadFailed("option.unknown_encoding", encoding=name) from error
    if found in _NO_FILES:
        raise LoadFailed("option.unknown_encoding", encoding=name)
    return found


# Finding out --------------------------------------------------------------------------------------


def _told(start: bytes) -> str | None:
    """
    Name the encoding that the start of a file gives away, or None.

    Raises: ``LoadFailed`` with ``file.binary``.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if b"\0" not in start:
        return None
    for encoding, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        if _is_utf16(start, encoding, first):
            return encoding
    raise LoadFailed("file.binary")


def _is_utf16(start: bytes, encoding: str, first: int) -> bool:
    """Tell whether all is text, and only the upper bytes of characters are ever zero."""
    whole = start[: len(start) // 2 * 2]
    if 0 not in whole[first::2] or 0 in whole[1 - first :: 2]:
        return False
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(whole)
    return "�" not in text and not _CONTROLS.search(text) and ("\n" in text or "\r" in text)


def _line_not_utf8(path: Path) -> int | None:
    """
    Read a whole file to see whether it is UTF-8, and give the first line that is not.

    Raises: ``LoadFailed`` with ``file.binary`` when there is a NUL in it.
    """
    decoder, line, found = codecs.getincrementaldecoder(_UTF8)(), 1, None
    for block in chain(_blocks(path), [b""]):
        if b"\0" in block:
            raise LoadFailed("file.binary")
        if found is None:
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                found = line + error.object[: error.start].count(b"\n")
            line += block.count(b"\n")
    return found


def _sample(path: Path) -> bytes:
    """Gather the lines that have more than ASCII: they alone tell encodings apart."""
    found = bytearray()
    for block in _blocks(path):
        if len(found) < _SAMPLE_BYTES:
            for line in _LINE_END.split(block):
                if not line.isascii():
                    found += line[:_SAMPLE_BYTES] + b"\n"
    return bytes(found[:_SAMPLE_BYTES])


def _guessed(sample: bytes, line: int) -> str:
    """
    Guess the encoding of what is not UTF-8, from the given line on.

    Raises: ``LoadFailed`` with ``file.binary``, ``file.damaged_utf8``, ``file.unknown_encoding``.
    """
    import chardet  # noqa: PLC0415 - a fourth of what the process that reads has to import

    if _CONTROLS.search(sample.decode("latin-1")):
        raise LoadFailed("file.binary")
    if _is_mostly_utf8(sample):
        raise LoadFailed("file.damaged_utf8", line=line)
    found = chardet.detect(sample, include_encodings=_LEGACY)["encoding"]
    if found is None:
        raise LoadFailed("file.unknown_encoding")
    guess = codecs.lookup(found).name
    is_odd = _TWO_SCRIPTS.search(sample.decode(guess, errors="replace"))
    return _VIETNAMESE if is_odd and _is_vietnamese(sample) else guess


def _is_mostly_utf8(sample: bytes) -> bool:
    """Tell a few damaged characters from another encoding, whose lines are hardly ever UTF-8."""
    lines = sample.splitlines()
    damaged = sum("�" in line.decode(errors="replace") for line in lines)
    return damaged * _MOSTLY < len(lines)


# Vietnamese ---------------------------------------------------------------------------------------

_VOWELS = "aăâeêioôơuưy"
_TONES = "\u0300\u0301\u0303\u0309\u0323"
_ANY_TONE = re.compile(f"(.?)[{_TONES}]", re.DOTALL)
#: A word in the letters of two scripts, as other encodings make of Vietnamese.
_TWO_SCRIPTS = re.compile("[a-z][\u0370-\u06ff]|[\u0370-\u06ff][a-z]", re.IGNORECASE)
#: Letters that Windows-1258 alone has, and vowels that no other language puts a tone on.
_SURELY_VIETNAMESE = re.compile(f"[ăâêôơư][{_TONES}]|[đơư]", re.IGNORECASE)


def _is_vietnamese(sample: bytes) -> bool:
    """
    Tell whether bytes are Vietnamese in Windows-1258, which writes a tone after its vowel.

    The bytes of the tones are ``ò``, ``ì``, ``Ì``, ``Þ`` and ``Ò`` elsewhere, those of đ, ơ and ư
    ``ð``, ``õ`` and ``ý``.
    """
    try:
        text = sample.decode(_VIETNAMESE)
    except UnicodeDecodeError:
        return False
    before = _ANY_TONE.findall(text)
    return (
        bool(before)
        and all(letter and letter.lower() in _VOWELS for letter in before)
        and bool(_SURELY_VIETNAMESE.search(text))
    )


def _windows_name(encoding: str) -> str:
    return f"Windows-{encoding[2:]}" if re.fullmatch(r"cp12\d\d", encoding) else encoding


# Copying ------------------------------------------------------------------------------------------


def _decoded(path: Path, encoding: str, place: StagingArea, failure: Exception) -> Path:
    """
    Write a copy in UTF-8, without marks at its start.

    Raises: ``LoadFailed`` with ``file.binary``, and the failure given where the file is not in the
    encoding.
    """
    copy = place.folder / "text"
    try:
        with copy.open("w", encoding=_UTF8, newline="") as target:
            for text in _texts(path, encoding):
                if "\0" in text:
                    raise LoadFailed("file.binary")
                target.write(text)
    except UnicodeError as error:
        raise failure from error
    if not copy.stat().st_size:
        raise LoadFailed("file.empty")
    return copy


def _texts(path: Path, encoding: str) -> Iterator[str]:
    """Decode a file block by block; Vietnamese letters and their tones become one character."""
    composes, rest, begun = encoding == _VIETNAMESE, "", False
    with path.open(encoding=encoding, newline="") as file:
        while block := file.read(_BLOCK_BYTES):
            text = rest + block
            if not begun:
                text = text.lstrip(_MARK)
                begun = bool(text)
            if composes:
                text, rest = _before_last_letter(text)
                text = unicodedata.normalize("NFC", text)
            yield text
    yield unicodedata.normalize("NFC", rest)


def _before_last_letter(text: str) -> tuple[str, str]:
    """Cut off the last letter and its tone, if any: a tone may follow in the next block."""
    end = max(0, len(text) - 1 - (text[-1:] in _TONES))
    return text[:end], text[end:]


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block

"""
Detect the encoding of a text file, and convert it to UTF-8.

Byte order marks come first, then UTF-16 without a mark, then UTF-8 over the whole file.  Otherwise
the encoding is guessed where the evidence is strong, and asked for where it is not.  A file that is
UTF-8 but for some lines is refused.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..messages import Notice
from ..messages.failures import LoadFailed
from .encoding_guess import guess_encoding, name_encoding
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

_VIETNAMESE = "cp1258"
#: The tones of Windows-1258, each behind its vowel.
_TONES = "\u0300\u0301\u0303\u0309\u0323"

_LINE_END = re.compile(rb"[\r\n]")

#: Control characters that texts do not have.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x7f]")


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
    sample = _read_sample(path)
    if _CONTROLS.search(sample.decode("latin-1")):
        raise LoadFailed("file.binary")
    if _is_mostly_utf8(sample):
        raise LoadFailed("file.damaged_utf8", line=line)
    guess = guess_encoding(sample, options.languages)
    copy = _decode_file(path, guess, folder, LoadFailed("file.unknown_encoding"))
    return copy, (Notice("notice.encoding_guessed", encoding=name_encoding(guess)),)


# Detection ----------------------------------------------------------------------------------------


def _detect_unicode(start: bytes) -> str | None:
    """Return the encoding of a file that begins with a mark, or like UTF-16; None for others."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if b"\0" not in start:
        return None
    for encoding, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        if _is_utf16(start, encoding, first):
            return encoding
    if _CONTROLS.search(start.replace(b"\0", b"").decode("latin-1")):
        raise LoadFailed("file.binary")
    return None


def _is_utf16(start: bytes, encoding: str, first: int) -> bool:
    """Return whether all is text, and only the upper bytes of characters are ever zero."""
    whole = start[: len(start) // 2 * 2]
    if 0 not in whole[first::2] or 0 in whole[1 - first :: 2]:
        return False
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(whole)
    return "�" not in text and not _CONTROLS.search(text) and ("\n" in text or "\r" in text)


def _find_line_not_utf8(path: Path) -> int | None:
    """Read a whole file, and return the first line that is not UTF-8, None if all of them are."""
    decoder, end, found = codecs.getincrementaldecoder(_UTF8)(), 0, None
    for block in chain(_read_blocks(path), [b""]):
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


def _read_sample(path: Path) -> bytes:
    """Read the lines with more than ASCII, in which encodings differ; a long line is cut."""
    found, rest = bytearray(), b""
    for block in chain(_read_blocks(path), [b"\n"]):
        lines = _LINE_END.split(rest + block)
        rest = lines.pop()
        if len(rest) > _SAMPLE_BYTES:
            lines.append(rest)
            rest = b""
        found += b"".join(line + b"\n" for line in lines if not line.isascii())
        if len(found) >= _SAMPLE_BYTES:
            break
    return bytes(found)


def _is_mostly_utf8(sample: bytes) -> bool:
    """Return whether few lines are damaged: in another encoding, hardly any line is UTF-8."""
    lines = sample.splitlines()
    damaged = sum("�" in line.decode(errors="replace") for line in lines)
    return damaged * _LINES_PER_DAMAGE < len(lines)


# Conversion ---------------------------------------------------------------------------------------


def _decode_file(path: Path, encoding: str, folder: Path, failure: Exception) -> Path:
    """Write a copy in UTF-8, without marks at its start."""
    copy = folder / "text"
    try:
        with copy.open("w", encoding=_UTF8, newline="") as target:
            for text in _decode_blocks(path, encoding):
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


def _decode_blocks(path: Path, encoding: str) -> Iterator[str]:
    """Decode a file block by block; Vietnamese letters and their tones become one character."""
    composes, rest, begun = encoding == _VIETNAMESE, "", False
    with path.open(encoding=encoding, newline="") as file:
        while block := file.read(_BLOCK_BYTES):
            text = rest + block
            if not begun:
                text = text.lstrip(_MARK)
                begun = bool(text)
            if composes:
                text, rest = _split_last_letter(text)
                text = unicodedata.normalize("NFC", text)
            yield text
    yield unicodedata.normalize("NFC", rest)


def _split_last_letter(text: str) -> tuple[str, str]:
    """Cut off the last letter and its tone, if any: a tone may follow in the next block."""
    end = max(0, len(text) - 1 - (text[-1:] in _TONES))
    return text[:end], text[end:]


def _read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block

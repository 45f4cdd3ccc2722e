"""
VNI, an encoding of Vietnamese that Python lacks: the bytes of the fonts “VNI-Times” and the like.

A letter with a mark is the letter without it, and a second byte for its marks; some letters have
one byte.  The tables of Unikey and xvnkb have the same bytes for all 134 letters, which a test
holds.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

VNI = "vni"

# Bytes are written as their characters in Latin-1.
_TONES = dict(zip("ùøûõï", "\u0301\u0300\u0309\u0303\u0323", strict=True))
_CIRCUMFLEXES = dict(
    zip("âáàåãä", ("\u0302" + each for each in ("", *_TONES.values())), strict=True)
)
_BREVES = dict(zip("êéèúüë", ("\u0306" + each for each in ("", *_TONES.values())), strict=True))
_MARKS = {
    "a": _TONES | _CIRCUMFLEXES | _BREVES,
    **dict.fromkeys("eo", _TONES | _CIRCUMFLEXES),
    **dict.fromkeys("uyôö", _TONES),
}
#: Small letters of one byte.
_SINGLE = dict(zip("ôöñíìæóòî", "ơưđíìỉĩịỵ", strict=True))


def _build_letters() -> dict[str, str]:
    """Build the letters and signs of all bytes and pairs of bytes that have one."""
    pairs = {
        base + byte: unicodedata.normalize("NFC", _SINGLE.get(base, base) + marks)
        for base, marks_of_base in _MARKS.items()
        for byte, marks in marks_of_base.items()
    }
    del pairs["yï"]  # its letter has one byte
    small = _SINGLE | pairs
    signs = {
        chr(byte): sign
        for byte in range(0x80, 0xC0)
        if (sign := bytes([byte]).decode("cp1252", errors="ignore"))
    }
    return small | {each.upper(): letter.upper() for each, letter in small.items()} | signs


#: The letters and signs, by their bytes.
LETTERS = _build_letters()
#: Bytes, which the stubs of ``charmap_encode`` do not allow.
_ENCODING_TABLE: dict[int, Any] = {
    ord(letter): each.encode("latin-1") for each, letter in LETTERS.items()
}
_ENCODING_TABLE |= {byte: bytes([byte]) for byte in range(0x80)}

_SMALL_BASES, _SMALL_MARKS = "".join(_MARKS), "".join(_MARKS["a"])
_BASES, _MARK_BYTES = (each + each.upper() for each in (_SMALL_BASES, _SMALL_MARKS))
#: A letter with the byte of its marks, or a byte that is not of ASCII.
_PAIR = re.compile(f"[{_BASES}][{_MARK_BYTES}]|[\x80-\xff]")
_BASE_BYTES = frozenset(_BASES.encode("latin-1"))


def register_vni() -> None:
    """Let Python find the encoding by its name; a second time changes nothing."""
    try:
        codecs.lookup(VNI)
    except LookupError:
        codecs.register(_find_codec)


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != VNI:
        return None
    return codecs.CodecInfo(
        name=VNI, encode=_encode, decode=_decode, incrementaldecoder=_IncrementalDecoder
    )


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.charmap_encode(text, errors, _ENCODING_TABLE)


def _decode(data: ReadableBuffer, errors: str = "strict") -> tuple[str, int]:
    content = bytes(data)

    def replace(match: re.Match[str]) -> str:
        if letter := LETTERS.get(match[0]):
            return letter
        error = UnicodeDecodeError(VNI, content, *match.span(), "no letter has these bytes")
        return str(codecs.lookup_error(errors)(error)[0])

    return _PAIR.sub(replace, content.decode("latin-1")), len(content)


class _IncrementalDecoder(codecs.BufferedIncrementalDecoder):
    def _buffer_decode(self, data: ReadableBuffer, errors: str, final: bool) -> tuple[str, int]:
        """Decode all bytes; a last letter waits for the byte of its marks."""
        content = bytes(data)
        if not final and content and content[-1] in _BASE_BYTES:
            content = content[:-1]
        return _decode(content, errors)

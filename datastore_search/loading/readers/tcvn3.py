"""
TCVN3, an encoding of Vietnamese that Python lacks: the bytes of the fonts “.VnTime” and the like.

Its letters are those of TCVN 5712 at the same places, which a test compares with ``iconv``.  It has
no capitals with a tone: a font of capitals shows small letters as capitals.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TCVN3 = "tcvn3"

#: The letters from a byte on.
_LETTERS = {
    0xA0: "\u00a0ĂÂÊÔƠƯĐăâêôơưđ",
    0xB5: "àảãáạ",
    0xBB: "ằẳẵắ",
    0xC6: "ặầẩẫấậè",
    0xCE: "ẻẽéẹềểễếệìỉ",
    0xDC: "ĩíịò",
    0xE1: "ỏõóọồổỗốộờởỡớợù",
    0xF1: "ủũúụừửữứựỳỷỹýỵ",
}
#: The characters of the bytes that have one, as numbers.
DECODING_TABLE = {byte: byte for byte in range(128)} | {
    first + position: ord(letter)
    for first, letters in _LETTERS.items()
    for position, letter in enumerate(letters)
}
_ENCODING_TABLE = {character: byte for byte, character in DECODING_TABLE.items()}


def register_tcvn3() -> None:
    """Let Python find the encoding by its name; a second time changes nothing."""
    try:
        codecs.lookup(TCVN3)
    except LookupError:
        codecs.register(_find_codec)


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != TCVN3:
        return None
    return codecs.CodecInfo(
        name=TCVN3, encode=_encode, decode=_decode, incrementaldecoder=_IncrementalDecoder
    )


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.charmap_encode(text, errors, _ENCODING_TABLE)


def _decode(data: ReadableBuffer, errors: str = "strict") -> tuple[str, int]:
    return codecs.charmap_decode(data, errors, DECODING_TABLE)


class _IncrementalDecoder(codecs.IncrementalDecoder):
    def decode(self, data: ReadableBuffer, final: bool = False) -> str:
        return _decode(data, self.errors)[0]

"""The letters of VNI, compared with those of two programs that know it."""

from __future__ import annotations

import codecs
import hashlib
import unicodedata

import pytest

from datastore_search.loading.readers.vni import LETTERS, register_vni

register_vni()

_VOWELS = "aăâeêioôơuưy"
_TONES = "\u0300\u0301\u0303\u0309\u0323"
_SMALL = {unicodedata.normalize("NFC", vowel + tone) for vowel in _VOWELS for tone in ["", *_TONES]}
_LETTERS = sorted(
    letter
    for letter in {*_SMALL, *(letter.upper() for letter in _SMALL), "đ", "Đ"}
    if not letter.isascii()
)
#: Of lines with a letter and its bytes in hexadecimal, in the order of the letters, as they are in
#: Unikey 0.7.0~beta1 (``ukengine/data.cpp`` of ibus-unikey: ``DoubleByteTables``, VNI-WIN) and in
#: xvnkb 0.2.11 (``vni.h``), which were written by different people; compared on 2026-11-23.
_DIGEST = "1554da8c58e5a86f17578ea12bc8ea58fe1a3b06df205adbd0715c931fb38da2"


def test_each_letter_has_the_bytes_that_unikey_and_xvnkb_have() -> None:
    lines = "".join(f"{letter} {letter.encode('vni').hex()}\n" for letter in _LETTERS)

    assert len(_LETTERS) == 134
    assert hashlib.sha256(lines.encode()).hexdigest() == _DIGEST


def test_what_is_encoded_is_decoded_again() -> None:
    text = "".join(sorted({*LETTERS.values(), *map(chr, range(0x80))}))

    assert text.encode("vni").decode("vni") == text


def test_a_text_is_read_however_it_is_cut() -> None:
    content = "Nghị quyết số 7: đường Trần Hưng Đạo, ô tô, ơ, ư".encode("vni")

    for place in range(len(content)):
        decoder = codecs.getincrementaldecoder("vni")()
        text = decoder.decode(content[:place]) + decoder.decode(content[place:], final=True)
        assert text == "Nghị quyết số 7: đường Trần Hưng Đạo, ô tô, ơ, ư"


@pytest.mark.parametrize("content", [b"b\xf9", b"u\xe2", b"\xf9", b"\xdf", b"A\xf9", b"\xf4\xe2"])
def test_bytes_without_a_letter_are_refused(content: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        content.decode("vni")
    assert content.decode("vni", errors="replace").count("\ufffd") == 1

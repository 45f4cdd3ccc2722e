"""The letters of TCVN3, compared with those of glibc."""

from __future__ import annotations

import subprocess
import unicodedata

import pytest

from datastore_search.loading.readers.tcvn3 import DECODING_TABLE, register_tcvn3

register_tcvn3()

_VOWELS = "aăâeêioôơuưy"
_TONES = "\u0300\u0301\u0303\u0309\u0323"


def test_each_byte_has_the_letter_of_tcvn_5712() -> None:
    defined = bytes(byte for byte in DECODING_TABLE if byte >= 128)

    converted = subprocess.run(
        ["iconv", "-f", "TCVN5712-1", "-t", "UTF-8"], input=defined, capture_output=True, check=True
    ).stdout.decode()

    assert defined.decode("tcvn3") == converted
    assert len(defined) == 75


def test_each_small_letter_of_vietnamese_has_a_byte() -> None:
    letters = {unicodedata.normalize("NFC", v + tone) for v in _VOWELS for tone in ["", *_TONES]}

    assert {*letters, "đ", *"ĂÂÊÔƠƯĐ"} <= {*map(chr, DECODING_TABLE.values())}


def test_a_byte_without_a_letter_is_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\x80".decode("tcvn3")

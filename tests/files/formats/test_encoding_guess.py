"""The guess of an encoding: never wrong in silence, and asked for where the evidence is weak."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from functools import cache

import pytest
from babel import Locale

from datastore_search.contrib.files.formats.encodings import guess_encoding
from datastore_search.contrib.files.messages import LoadFailed

from ..builders import fails_with

#: Encodings, and languages that were written in them.
LANGUAGES = {
    "cp1252": "fr de es it pt sv da nb nn fi is nl ca gl eu sq af ga fo lb br",
    "cp1250": "cs sk pl hu hr sl ro bs sr_Latn",
    "cp1251": "ru uk bg be sr mk",
    "cp1253": "el",
    "cp1254": "tr az",
    "cp1255": "he",
    "cp1256": "ar fa ur",
    "cp1257": "lt lv et",
    "cp1258": "vi",
    "cp874": "th",
    "cp932": "ja",
    "euc_jp": "ja",
    "gb18030": "zh_Hans",
    "big5": "zh_Hant",
    "cp949": "ko",
    "koi8_r": "ru bg",
    "koi8_u": "uk",
    "cp866": "ru bg",
    "mac_cyrillic": "ru",
    "iso8859_5": "ru bg sr",
    "mac_roman": "fr de es it pt sv da nb is nl ca",
    "cp437": "fr de es it sv",
    "cp850": "fr de es it pt sv da nb",
    "cp852": "cs pl hu",
    "iso8859_1": "fr de es pt is",
    "iso8859_15": "fr fi",
    "iso8859_2": "cs pl hu sk sl hr ro",
    "iso8859_7": "el",
    "iso8859_9": "tr",
    "iso8859_13": "lv lt",
    "mac_latin2": "cs pl hu sk",
}
PAIRS = [(encoding, each) for encoding, listed in LANGUAGES.items() for each in listed.split()]
LENGTHS = (1, 2, 3, 5, 10, 30)
TONES = "\u0300\u0301\u0303\u0309\u0323"


@cache
def list_names(language: str, encoding: str) -> list[str]:
    """List names of countries, languages, currencies, months and days that an encoding holds."""
    locale = Locale.parse(language)
    names = [*locale.territories.values(), *locale.languages.values(), *locale.currencies.values()]
    names += [*locale.months["format"]["wide"].values(), *locale.days["format"]["wide"].values()]
    found = []
    for name in sorted(set(names)):
        text = separate_tones(name) if encoding == "cp1258" else name
        if language == "ro":
            text = text.translate(str.maketrans("șțȘȚ", "şţŞŢ"))
        if not text.isascii() and text == text.encode(encoding, "ignore").decode(encoding):
            found.append(text)
    # Without letters that a language hardly has, such as Võro in French.
    counts = Counter(letter for name in found for letter in set(name.lower()))
    return [name for name in found if all(counts[each] * 100 > len(found) for each in name.lower())]


def separate_tones(text: str) -> str:
    """Write tones behind their vowels, as Windows-1258 does."""
    parts = (unicodedata.normalize("NFD", letter) for letter in text)
    return "".join(
        unicodedata.normalize("NFC", "".join(c for c in part if c not in TONES))
        + "".join(c for c in part if c in TONES)
        for part in parts
    )


def make_table(language: str, encoding: str, count: int) -> str:
    chosen = random.Random(f" {language} {encoding} {count}")
    names = list_names(language, encoding)
    rows = (f"{number},{chosen.choice(names)},{number % 7}" for number in range(count))
    return "\n".join(["id,name,value", *rows, ""])


def read_table(data: bytes) -> str | None:
    """Read bytes in the encoding that is guessed; None if it is asked for."""
    try:
        encoding = guess_encoding(data)
    except LoadFailed:
        return None
    return unicodedata.normalize("NFC", data.decode(encoding))


@pytest.mark.parametrize(("encoding", "language"), PAIRS)
def test_no_file_is_read_wrong_in_silence(encoding: str, language: str) -> None:
    for count in LENGTHS:
        table = make_table(language, encoding, count)
        assert read_table(table.encode(encoding)) in {None, unicodedata.normalize("NFC", table)}


def test_the_files_are_six_hundred_in_many_languages() -> None:
    assert len(PAIRS) * len(LENGTHS) >= 600
    assert len({language for _encoding, language in PAIRS}) >= 40


@pytest.mark.slow
def test_an_encoding_is_hardly_asked_for_in_a_long_file() -> None:
    asked = [
        (encoding, language)
        for encoding, language in PAIRS
        if read_table(make_table(language, encoding, 400).encode(encoding)) is None
    ]

    assert len(asked) <= len(PAIRS) / 20, asked


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("São Paulo, João", "cp1252"),
        ("5 µg/m³, 20 °C, 30 m², 3 €", "cp1252"),
        ("they don’t, 1940–1945, “quoted”, l’avenir", "cp1252"),
        ("Curaçao, Bogotá, Española, Montréal", "cp1252"),
        ("Réunion, Guyenne française", "mac-roman"),
        ("Tỉnh Đồng Nai, Thừa Thiên Huế", "cp1258"),
    ],
)
def test_a_few_words_are_enough_where_no_other_reading_is_likely(text: str, encoding: str) -> None:
    written = separate_tones(text) if encoding == "cp1258" else text

    assert guess_encoding(written.encode(encoding)) == encoding


@pytest.mark.parametrize(("word", "others"), [("però", "perň"), ("Genève", "Genčve")])
def test_a_word_with_two_likely_readings_asks_with_both(word: str, others: str) -> None:
    with fails_with("file.ambiguous_encoding") as caught:
        guess_encoding(f"a\n{word}\n".encode("cp1252"))

    assert f"“Windows-1252” ({word})" in str(caught.value)
    assert f"“Windows-1250” ({others})" in str(caught.value)


def test_words_that_are_odd_in_every_encoding_ask_with_what_each_makes_of_them() -> None:
    with fails_with("file.ambiguous_encoding", match="“mac-roman” \\(knowledge\xa0of\\)"):
        guess_encoding(b"knowledge\xcaof")
    with fails_with("file.unknown_encoding"):
        guess_encoding(b"knowledge\xcaof\x7f")


def test_the_language_of_a_resource_decides_between_likely_readings() -> None:
    assert guess_encoding("Genève".encode("cp1252"), ["fr"]) == "cp1252"


def test_long_words_take_no_longer_than_short_ones() -> None:
    lines = (b"x" * 2**20).join(["Curaçao Bogotá Española Montréal ".encode("cp1252")] * 2)

    with fails_with("file.ambiguous_encoding", match="Española"):
        guess_encoding(lines)

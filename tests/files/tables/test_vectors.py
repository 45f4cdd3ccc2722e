"""Search vectors that a load builds: byte for byte those of PostgreSQL's function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore_search.contrib.files.tables.lexicon import DatabaseLexicon, can_build_vectors
from datastore_search.contrib.files.tables.vectors.builder import VectorBuilder

pytestmark = pytest.mark.django_db

SCRIPTS = Path(__file__).parents[2] / "core" / "search" / "scripts.tsv"

KNOWN = [
    "",
    "The quick brown Foxes were running, and ran",
    "the the THE tHe a of",
    "2015-03-04T12:30:00 x-04T12: 7-04T12:30",
    "1e5 1e5x 003e2tp5 8e0927e6 12e3e4e 0x1F 1E5X",
    'a-b_c.d/e@f:g<h>i&j~k\'l\\m +1.50 -0 10% #5 (x) [y] {z} "q" a=b;c,d!e?f^g|h`i$j*k',
    "www.example.org/path/file.html?x=1&y=2 someone@example.org <b>bold</b> &amp; C++",
    "tabs\tand\nlines\r\x1f\x01",
    "Café crème, naïve façade — “quoted” ‘single’ don’t 10² 5½ HP™ 20°C 3€ …end",
    "Đường Nguyễn Huệ, Hà Nội; đường",
    "Straße GROẞ Íslandið ŁÓDŹ Œuvre",
    "Ёлка и ёж, Москва; Αθήνα Οδυσσεύς",
    "شركة كتاب ۱۲۳ שָׁלוֹם",
    "x" * 400 + " y",
    " ".join(f"word{number}" for number in range(900)),
]
LEFT_TO_POSTGRESQL = [
    "王小明 in 東京",
    "می\u200cروم خانه",
    "กรุงเทพ",
    "한국어 사전",
    "a \u0301b",
    "x" * 600,
    "again " * 300,
    "z" * 10_001,
    "exponent 1\uffff5",
    "ﬁn",
    "-٠٤T١٢: ",
]
LANGUAGES = ["english", "simple", "french", "russian", "turkish", "arabic"]


def open_builder(language: str) -> VectorBuilder:
    return VectorBuilder(DatabaseLexicon(connection, language))


def build_vectors(
    texts: Sequence[str], language: str, builder: VectorBuilder | None = None
) -> list[bytes | None]:
    """Build vectors, and return the bytes that PostgreSQL stores for them."""
    vectors = (builder or open_builder(language)).build(texts)
    return fetch_vectors("SELECT tsvectorsend(given::tsvector)", vectors)


def compute_vectors(texts: Sequence[str], language: str) -> list[bytes | None]:
    """Return the bytes of the vectors of PostgreSQL's function."""
    return fetch_vectors(
        "SELECT tsvectorsend(datastore_search_lexemes("
        f"datastore_search_words(\"left\"(given, 100000)), '{language}'))",
        texts,
    )


def fetch_vectors(select: str, texts: Sequence[str | None]) -> list[bytes | None]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"{select} FROM unnest(%s::text[]) WITH ORDINALITY AS texts (given, number)"
            " ORDER BY number",
            [list(texts)],
        )
        return [vector and bytes(vector) for (vector,) in cursor.fetchall()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_known_texts_have_the_vectors_of_postgresql(language: str) -> None:
    assert build_vectors(KNOWN, language) == compute_vectors(KNOWN, language)


def test_what_depends_on_several_words_is_left_to_postgresql() -> None:
    built = open_builder("english").build(LEFT_TO_POSTGRESQL)

    assert built == [None] * len(LEFT_TO_POSTGRESQL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_of_every_script_have_the_vectors_of_postgresql_or_none(language: str) -> None:
    texts = [
        text
        for line in SCRIPTS.read_text("utf-8").splitlines()
        if not line.startswith("#")
        for text in line.split("\t")
    ]

    built = build_vectors(texts, language)

    for text, vector, expected in zip(texts, built, compute_vectors(texts, language), strict=True):
        assert vector in {None, expected}, text


ALPHABETS = [
    "abeEtTxZ019 -_.,:/@<>&'\"%+#=?~\\",
    "aeiouéèüßøđ ĐŁİıêṧ\u0301\u0327 -’–“”…²½™T:019",
    "абвгдеёйЁ αάςσΣЩ a1-T:",
    "ابتثكىیک۱۲٣ שלם\u05b8\u0640\u200c\u200f aT-:0",
    "aZ0 王小ก็가\u0e4d\u1039ไ\uff21\uff0d\u2126ﷺⅧ\u1d400 T-:",
]
TEXTS = st.lists(
    st.sampled_from(ALPHABETS).flatmap(lambda alphabet: st.text(alphabet, max_size=40))
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    min_size=1,
    max_size=30,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=TEXTS, language=st.sampled_from(LANGUAGES))
def test_any_text_has_the_vector_of_postgresql_or_none(texts: list[str], language: str) -> None:
    built = build_vectors(texts, language)

    for text, vector, expected in zip(texts, built, compute_vectors(texts, language), strict=True):
        assert vector in {None, expected}, text


def test_most_words_are_asked_for_once(django_assert_num_queries: object) -> None:
    builder = open_builder("english")
    builder.build(["running foxes", "naïve"])

    with django_assert_num_queries(0):  # type: ignore[operator] # pytest-django has no type for it
        assert None not in builder.build(["foxes 12 running a1b2", "Running, naïve"])


def test_more_words_than_are_remembered_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datastore_search.contrib.files.tables.vectors.builder._MAX_KNOWN_WORDS", 3)
    builder = open_builder("english")
    for texts in (["running foxes été"], ["jumped over dogs"], ["running foxes été, naïve"]):
        assert build_vectors(texts, "english", builder) == compute_vectors(texts, "english")


def test_vectors_are_built_only_in_configurations_of_postgresql_itself() -> None:
    records, texts = ['{"a":"running"}'], ["running"]
    assert can_build_vectors(connection, "english", records, texts)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEXT SEARCH CONFIGURATION own (COPY = english)")
    assert not can_build_vectors(connection, "own", records, texts)


@pytest.mark.superuser("It owns the configurations of PostgreSQL itself.")
def test_vectors_are_not_built_in_a_configuration_that_was_changed(
    superuser: psycopg.Connection,
) -> None:
    mapping = "ALTER TEXT SEARCH CONFIGURATION english ALTER MAPPING FOR numword WITH"
    superuser.execute(f"{mapping} english_stem".encode())
    try:
        assert not can_build_vectors(connection, "english", ['{"a":"running"}'], ["running"])
    finally:
        superuser.execute(f"{mapping} simple".encode())


def test_vectors_that_differ_from_those_of_postgresql_are_not_used() -> None:
    assert not can_build_vectors(connection, "english", ['{"a":"one"}'], ["two"])


def test_a_file_that_is_mostly_left_to_postgresql_is_left_to_it_whole() -> None:
    records, texts = ['{"a":"王小明"}', '{"a":"one"}'], ["王小明", "one"]

    assert not can_build_vectors(connection, "english", records, texts)

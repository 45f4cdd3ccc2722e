"""
What a full-text query finds, in the scripts of twenty languages.

``scripts.tsv`` has for each a text, a query, and whether the query finds the text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client

from datastore_search.database.statements import execute, fetch_column, fetch_value
from datastore_search.filters.words import UNSPACED_LETTERS
from datastore_search.models import Resource

from ...builders import act, ask, get_record_table, get_result, make_resource, make_writer_token
from ...shared import ModuleTransaction, restore_shared_resource


class Pair(NamedTuple):
    """A text of a record, a query, and whether it finds the text."""

    language: str
    text: str
    q: str
    found: str


def _read_pairs() -> list[Pair]:
    lines = (Path(__file__).parent / "scripts.tsv").read_text("utf-8").splitlines()
    header, *pairs = (Pair(*line.split("\t")) for line in lines)
    assert header == Pair._fields
    return pairs


PAIRS = _read_pairs()
LANGUAGES = sorted({pair.language for pair in PAIRS})
TEXTS = list(dict.fromkeys(pair.text for pair in PAIRS))


def make_texts(texts: Iterable[str] = TEXTS) -> Resource:
    file = io.StringIO()
    csv.writer(file).writerows([("place", "text"), *((f"p{n}", t) for n, t in enumerate(texts))])
    return make_resource(file.getvalue(), language="simple", types={"text": "text"})


@pytest.fixture(scope="module")
def _texts(module_transaction: ModuleTransaction) -> Resource:
    return make_texts()


@pytest.fixture
def texts(_texts: Resource, db: None) -> Resource:
    return restore_shared_resource(_texts) or make_texts()


def select_vectors(resource: Resource) -> list[tuple[str, str]]:
    return execute(
        connection,
        f"SELECT data ->> 'text', search::text FROM {get_record_table(resource)}"
        " ORDER BY data ->> 'text' COLLATE \"C\"",
    )


def find_texts(client: Client, resource: Resource, **parameters: Any) -> set[str]:
    asked = {"resource_id": str(resource.pk), "fields": ["text"], "limit": 1_000, **parameters}
    answer = ask(client, asked)
    return {record["text"] for record in get_result(answer)["records"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_query_finds_what_readers_of_the_language_expect(
    client: Client, texts: Resource, language: str
) -> None:
    for pair in PAIRS:
        if pair.language == language:
            for q in (pair.q, {"text": pair.q}):
                found = pair.text in find_texts(client, texts, q=q)
                assert found is (pair.found == "yes"), (pair, q)


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("小明 & !北京", {"王小明"}),
        ("北京 & 明王 | ガイド:*", {"ガイドブック", "ｶﾞｲﾄﾞﾌﾞｯｸ"}),
        ("iPhone手机", {"我买了iPhone手机"}),
        ("第3章", {"第3章 总则"}),
        ("'Hauptstraße 5'", {"Hauptstraße 5", "Hauptstrasse 5"}),
        ("ＲＩＶＥＲ＆ｌａｋｅ", set()),
        ("lake | ＨＡＵＰＴＳＴＲＡẞＥ:*", {"Hauptstraße 5", "Hauptstrasse 5"}),
    ],
)  # fmt: skip
def test_the_query_language_finds_the_same_letters(
    client: Client, texts: Resource, q: str, found: set[str]
) -> None:
    assert find_texts(client, texts, q=q, plain=False) == found


def test_a_write_makes_the_same_vectors_as_a_load(client: Client, texts: Resource) -> None:
    token = make_writer_token()
    written = make_texts(["?"] * len(TEXTS))
    records = [{"_id": number, "text": text} for number, text in enumerate(TEXTS, 1)]

    sent = {"resource_id": str(written.pk), "method": "update", "records": records, "force": True}

    updated = act(client, "datastore_upsert", sent, token)

    assert updated.status_code == 200, updated.json()
    written.refresh_from_db()
    assert [text for text, _vector in select_vectors(written)] == sorted(TEXTS)
    assert select_vectors(written) == select_vectors(texts)


@pytest.mark.parametrize(
    "text",
    [
        "".join(chr(0x4E00 + code) for code in Random(1).choices(range(20_000), k=120_000)),
        "".join(chr(0x20000 + code) for code in Random(2).choices(range(40_000), k=120_000)),
        "".join(chr(0xE01 + number * number % 46) + "ี่" for number in range(40_000)),
        "ﷺ" * 100_000,
        "㋿½" * 60_000,
    ],
    ids=["han", "rare han", "thai", "one letter for eighteen", "compatible forms"],
)
def test_the_longest_texts_fit_into_a_vector(db: None, text: str) -> None:
    assert fetch_value(
        connection,
        "SELECT datastore_search_vector(jsonb_build_object('text', %s::text), 'english')"
        " @@ datastore_search_tsquery(%s, 'english')",
        [text, text[20_000:20_010]],
    )


@pytest.mark.slow
def test_the_limit_of_words_counts_the_letters_that_are_cut(db: None) -> None:
    """Python counts the words of a query, which PostgreSQL cuts."""
    counted = re.compile(f"[{UNSPACED_LETTERS}]")
    letters = [chr(code) for code in range(0x80, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    cut = fetch_column(
        connection,
        "SELECT letter FROM unnest(%s::text[]) AS letter"
        " WHERE strpos(datastore_search_split(letter), chr(31)) > 0",
        [letters],
    )

    assert len(cut) > 90_000
    assert cut == [letter for letter in letters if counted.match(letter)]


# The text of a record is written in two ways, with the same words --------------------------------

#: Marks that JSON escapes, and words that look like it; marks of letters; scripts without blanks.
_PIECES = [
    *('"', "\\", "\n", "\r\n", "\t", "\b", "\f", "\x01", "\u2028", "[", "]", "{", "}", ",", ":"),
    *("\\n", "null", "true", "\\u0041", "2024-01-02T03:04:05", "-1.50", "ê", "\u0301", "ﬁ", "Ⅷ"),
    *("q\u0323\u0307", "王小明", "ภาษาไทย", "می\u200cخواهم", "हिन्दी", "đường", "Straße", "ΟΔΟΣ"),
    *("٣٤", "LG전자", "x264", "running", "cities", "e-mail@example.org", "10²", " ", "", "3rd"),
    *("https://example.org/a_b?c=d&e", "1e5"),
]


def _write_value(random: Random) -> object:
    text = "".join(random.choices(_PIECES, k=random.choice([0, 1, 2, 5, 9])))
    return random.choice(
        [text, text, text, None, True, -1.50, 10**20, [text], {text: [text, None]}]
    )


@pytest.mark.parametrize(
    ("language", "count"),
    [
        ("english", 2_000),
        ("german", 2_000),
        ("simple", 2_000),
        pytest.param("english", 100_000, marks=pytest.mark.slow),
    ],
)
def test_a_record_has_the_words_of_its_values(db: None, language: str, count: int) -> None:
    random = Random(count)
    records = [
        {f"f{at}": _write_value(random) for at in range(random.choice([0, 1, 3, 14]))}
        for _record in range(count)
    ]
    records += [{"long": 'ê "a" ' * 1_000}, {"long": "\\ word " * 30_000, "z": 1}]

    differing = fetch_column(
        connection,
        "SELECT data FROM jsonb_array_elements(%s::jsonb) AS data,"
        ' LATERAL (SELECT datastore_search_words("left"(datastore_search_values(data), 100000)),'
        " datastore_search_vector(data, %s::regconfig)) AS each (words, vector)"
        " WHERE vector::text IS DISTINCT FROM"
        " datastore_search_lexemes(words, %s::regconfig)::text",
        [json.dumps(records), language, language],
    )

    assert differing == []

"""Known items: at which place of the results the one right record is, beside other engines."""

from __future__ import annotations

import csv
import gettext
import json
import re
import sqlite3
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from psycopg import sql

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.database.tables import quote_record_table
from datastore_search.interface import search
from datastore_search.models import Resource, TableVersion

from ..report import Table
from .pairs import compile_sqlite_query

_NAME = "benchmark-known-items"
_MAX_QUERIES = 300
_PLACES = 10
#: Different words of five letters or more in a text from which three are taken.
_MIN_WORDS = 5
_ISO_CODES = Path("/usr/share/iso-codes/json/iso_639-3.json")
_LOCALES = Path("/usr/share/locale")
_FORTUNES = Path("/usr/share/games/fortunes/de")
#: Names that are computed from the number of the character.
_COMPUTED_NAME = re.compile(r"CJK|HANGUL SYLLABLE|TANGUT|NUSHU|KHITAN|EGYPTIAN|CUNEIFORM")


@dataclass(frozen=True, slots=True)
class KnownItems:
    """Records, and queries with the number of the right record, from 1."""

    name: str
    configuration: str
    header: tuple[str, ...]
    records: Sequence[tuple[str, ...]]
    queries: Sequence[tuple[str, int]]


#: Return the numbers of the best records, from 1.
Ranker = Callable[[str], list[int]]


def build_table() -> Table:
    """Ask for the known items of each set in each engine."""
    rows = [_measure(items) for items in _build_sets()]
    caption = f"Mean reciprocal rank at {_PLACES}:"
    return Table(caption, ("set", "records", "queries", "ours", "ts_rank", "FTS5 bm25"), rows)


def _measure(items: KnownItems) -> tuple[str, ...]:
    resource = _load(items)
    try:
        rankers = (_rank_ours(resource), _rank_websearch(resource), _rank_sqlite(items))
        cells = []
        for rank in rankers:
            places = [_find_place(rank(q), number) for q, number in items.queries]
            cells.append(f"{sum(1 / place for place in places if place) / len(places):.3f}")
    finally:
        resource.delete()
    return (items.name, f"{len(items.records):,}", str(len(items.queries)), *cells)


def _find_place(found: Sequence[int], number: int) -> int:
    return found.index(number) + 1 if number in found else 0


def _load(items: KnownItems) -> Resource:
    Resource.objects.filter(name=_NAME).delete()  # that of an interrupted run
    resource = Resource.objects.create(name=_NAME, language=items.configuration)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([items.header, *items.records])
        types = dict.fromkeys(items.header, "text")
        load_file(resource, path, options=LoadOptions(types=types))
    return resource


def _rank_ours(resource: Resource) -> Ranker:
    def rank(q: str) -> list[int]:
        found = search(AnonymousUser(), resource.pk, q=q, fields="_id", limit=_PLACES)
        return [record["_id"] for record in found.records]

    return rank


def _rank_websearch(resource: Resource) -> Ranker:
    """Rank as CKAN does, but with ``websearch_to_tsquery``."""
    version = TableVersion.objects.get(resource=resource)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS known_items")
        cursor.execute(
            sql.SQL(
                "CREATE TEMPORARY TABLE known_items AS"
                " SELECT _id, to_tsvector({}, datastore_search_values(data)) AS search FROM {}"
            ).format(sql.Literal(version.language), quote_record_table(version.pk))
        )

    def rank(q: str) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT _id FROM known_items, websearch_to_tsquery(%s, %s) AS query"
                " WHERE search @@ query ORDER BY ts_rank(search, query) DESC, _id LIMIT %s",
                [version.language, q, _PLACES],
            )
            return [row[0] for row in cursor]

    return rank


def _rank_sqlite(items: KnownItems) -> Ranker:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE record USING fts5(text, tokenize='unicode61 remove_diacritics 2')"
    )
    # bm25 weighs all columns alike, so a record is one text.
    database.executemany(
        "INSERT INTO record VALUES (?)", [["\n".join(record)] for record in items.records]
    )

    def rank(q: str) -> list[int]:
        rows = database.execute(
            "SELECT rowid FROM record(?) ORDER BY rank LIMIT ?", [compile_sqlite_query(q), _PLACES]
        )
        return [row[0] for row in rows]

    return rank


# Sets ---------------------------------------------------------------------------------------------


def _build_sets() -> Iterator[KnownItems]:
    """Build the sets whose data are installed; print which are not."""
    yield _build_characters()
    for package, path, build in (
        ("iso-codes", _ISO_CODES, _build_languages),
        ("fortunes-de", _FORTUNES, _build_texts),
    ):
        if path.exists():
            yield build()
        else:
            print(f"Debian's package {package} is not installed: no figures of its set.")


def _build_characters() -> KnownItems:
    """Titles: the names of Unicode's characters, which often begin with that of another."""
    named = [(chr(code), unicodedata.name(chr(code), "")) for code in range(sys.maxunicode + 1)]
    records = [
        (f"U+{ord(each):04X}", name, unicodedata.category(each))
        for each, name in named
        if name and not _COMPUTED_NAME.match(name)
    ]
    chosen = Random(32).sample(range(len(records)), _MAX_QUERIES)
    queries = [(records[number][1].lower(), number + 1) for number in chosen]
    return KnownItems("titles: characters", "english", ("code", "name", "kind"), records, queries)


def _build_languages() -> KnownItems:
    """Names, in German: of the best known of all languages, which have a code of two letters."""
    entries = json.loads(_ISO_CODES.read_text("utf-8"))["639-3"]
    translate = gettext.translation("iso_639-3", _LOCALES, ["de"]).gettext
    records = [(each["alpha_3"], translate(each["name"]), each["name"]) for each in entries]
    names = Counter(name for _code, name, _english in records)
    queries: list[tuple[str, int]] = []
    for number, each in enumerate(entries, 1):
        name = records[number - 1][1]
        q = re.split("[;(]", name)[0].strip()
        if "alpha_2" in each and names[q] == (q == name):  # no other one has the name
            queries.append((q, number))
    header = ("code", "name", "english")
    return KnownItems("names: languages (German)", "german", header, records, queries)


def _build_texts() -> KnownItems:
    """Three words of a text, in German."""
    paths = [path for path in sorted(_FORTUNES.iterdir()) if path.suffix not in {".dat", ".u8"}]
    texts = {text.strip() for path in paths for text in path.read_text("utf-8").split("\n%\n")}
    records = [(f"t{number}", text) for number, text in enumerate(sorted(filter(None, texts)))]
    random = Random(32)
    queries: list[tuple[str, int]] = []
    for number in random.sample(range(len(records)), len(records)):
        words = sorted({*re.findall(r"\w{5,}", records[number][1])})
        if len(words) >= _MIN_WORDS and len(queries) < _MAX_QUERIES:
            queries.append((" ".join(random.sample(words, 3)), number + 1))
    return KnownItems("three words of a text (German)", "german", ("id", "text"), records, queries)

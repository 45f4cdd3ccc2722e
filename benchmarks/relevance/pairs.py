"""Pairs of a text and a query: which engine finds what must be found, and what must not be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection
from psycopg import sql

from datastore_search.filters import Clause, FullTextOptions, parse_full_text_query
from datastore_search.filters.full_text import Term, parse_terms

from ..report import Table


class Pair(NamedTuple):
    """
    A text, a query, and whether it finds the text.

    ``set`` is a language or a kind of text, ``configuration`` is PostgreSQL's.
    """

    set: str
    configuration: str
    text: str
    q: str
    found: str
    source: str


#: Return whether the query of a pair finds its text.
Engine = Callable[[Pair], bool]

#: The pairs of a set that must be found, or must not be, and what each engine says of them.
_Answers = Sequence[tuple[Pair, dict[str, bool]]]


def read_pairs() -> list[Pair]:
    """Read the pairs of all sets."""
    lines = (Path(__file__).parent / "pairs.tsv").read_text("utf-8").split("\n")[1:-1]
    return [Pair(*line.split("\t")) for line in lines]


def build_table() -> tuple[Table, list[Pair], float]:
    """
    Ask every engine that is installed for every pair.

    Returns the table, the pairs that ours gets wrong, and the percentage that it finds of what must
    be found.
    """
    engines = find_engines()
    answers = [(pair, {name: ask(pair) for name, ask in engines.items()}) for pair in read_pairs()]
    rows = [
        _count(name, engines, [each for each in answers if name in {each[0].set, "all"}])
        for name in [*dict.fromkeys(pair.set for pair, _found in answers), "all"]
    ]
    header = ("set", "must", "must not", *(each for name in engines for each in (name, "wrong")))
    caption = "What must be found, in percent, and how much is found that must not be:"
    wrong = [pair for pair, found in answers if found["ours"] is not (pair.found == "yes")]
    return Table(caption, header, rows), wrong, float(rows[-1][3])


def _count(name: str, engines: Iterable[str], answers: _Answers) -> tuple[str, ...]:
    must = [found for pair, found in answers if pair.found == "yes"]
    must_not = [found for pair, found in answers if pair.found == "no"]
    cells = [name, str(len(must)), str(len(must_not))]
    for engine in engines:
        share = sum(found[engine] for found in must) / len(must)
        cells += [f"{100 * share:.1f}", str(sum(found[engine] for found in must_not))]
    return tuple(cells)


# Engines ------------------------------------------------------------------------------------------


def find_engines() -> dict[str, Engine]:
    """Find the engines; print which one is not installed."""
    engines: dict[str, Engine] = {
        "ours": ask_ours,
        "websearch": _ask_websearch,
        "FTS5": partial(_ask_sqlite, "unicode61 remove_diacritics 2"),
        "FTS5 trigram": partial(_ask_sqlite, "trigram"),
    }
    if find_spec("icu") and find_spec("snowballstemmer"):
        return {**engines, "ICU": _ask_icu}
    print("PyICU and snowballstemmer are not installed: no figures of an ICU-based analyser.")
    return engines


def ask_ours(pair: Pair) -> bool:
    """Ask the search of this package."""
    options = FullTextOptions(pair.configuration, Clause(sql.SQL("record")))
    (query,) = parse_full_text_query(pair.q, {}, options, names=())
    statement = sql.SQL(
        "SELECT {} FROM (SELECT datastore_search_vector(jsonb_build_object('text', %s::text),"
        " %s::regconfig) AS search) AS record"
    ).format(query.match.text)
    return _fetch(statement, [*query.match.parameters, pair.text, pair.configuration])


def _ask_websearch(pair: Pair) -> bool:
    return _fetch(
        sql.SQL("SELECT to_tsvector(%s, %s) @@ websearch_to_tsquery(%s, %s)"),
        [pair.configuration, pair.text, pair.configuration, pair.q],
    )


def _fetch(statement: sql.Composable, parameters: Sequence[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return bool(cursor.fetchone() == (True,))


def _ask_sqlite(tokenizer: str, pair: Pair) -> bool:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE VIRTUAL TABLE record USING fts5(text, tokenize='{tokenizer}')")
        database.execute("INSERT INTO record VALUES (?)", [pair.text])
        rows = database.execute("SELECT 1 FROM record(?)", [compile_sqlite_query(pair.q)])
        return rows.fetchone() is not None


def compile_sqlite_query(q: str) -> str:
    """Compile a query of FTS5: all terms must occur, the last word may begin a longer one."""
    alternatives = []
    for terms in parse_terms(q):
        sought = [
            each for each in terms if not each.is_excluded and any(map(str.isalnum, each.text))
        ]
        ending = "*" if sought and not sought[-1].is_phrase else ""
        excluded = [f" NOT {_quote(each)}" for each in terms if each.is_excluded]
        alternatives.append(f"({' AND '.join(map(_quote, sought))}{ending}{''.join(excluded)})")
    return " OR ".join(alternatives)


def _quote(term: Term) -> str:
    return '"' + term.text.replace('"', "") + '"'


#: A word as it is written, in ASCII, and the stems of both.
_Forms = tuple[str, str, str, str]


def _ask_icu(pair: Pair) -> bool:
    """Analyse as Elasticsearch's ``icu_tokenizer``, ``asciifolding`` and ``snowball`` do."""
    split = partial(_split_by_icu, pair)
    words = split(pair.text)
    return any(
        all(
            _occurs(split(each.text), words, each, is_last=each is terms[-1])
            is not each.is_excluded
            for each in terms
        )
        for terms in parse_terms(pair.q)
    )


def _occurs(sought: list[_Forms], words: list[_Forms], term: Term, *, is_last: bool) -> bool:
    if term.is_phrase:
        starts = range(len(words) - len(sought) + 1)
        return any(all(map(_is_equal, sought, words[start:])) for start in starts)
    begun = sought[-1:] if is_last else []
    return all(
        any(
            _is_equal(each, word) or (each in begun and word[1].startswith(each[1]))
            for word in words
        )
        for each in sought
    )


def _is_equal(word: _Forms, other: _Forms) -> bool:
    return not {*word}.isdisjoint(other)


def _split_by_icu(pair: Pair, text: str) -> list[_Forms]:
    """Split by ICU, and stem in the language of the set, or else of its configuration."""
    breaks, casefold, write_ascii, stemmers = _load_icu()
    stem = stemmers.get(pair.set.lower()) or stemmers.get(pair.configuration, str)
    folded = casefold(text)
    breaks.setText(folded)
    words, start = [], 0
    for end in breaks:
        if breaks.getRuleStatus():  # not punctuation
            written, plain = folded[start:end], write_ascii(folded[start:end])
            words.append((written, plain, stem(written), stem(plain)))
        start = end
    return words


@cache
def _load_icu() -> tuple[Any, Callable[[str], str], Callable[[str], str], dict[str, Any]]:
    import icu
    import snowballstemmer

    return (
        icu.BreakIterator.createWordInstance(icu.Locale.getRoot()),
        icu.Normalizer2.getNFKCCasefoldInstance().normalize,
        icu.Transliterator.createInstance("Latin-ASCII").transliterate,
        {name: snowballstemmer.stemmer(name).stemWord for name in snowballstemmer.algorithms()},
    )

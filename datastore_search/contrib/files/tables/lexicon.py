"""What PostgreSQL knows about words, and whether a load can build search vectors from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import DataError
from django.db.backends.base.base import BaseDatabaseWrapper

from ....database.statements import execute, fetch_value
from .vectors.builder import Parts, VectorBuilder

#: Words of one text from which PostgreSQL finds stems; their places are the words' positions, of
#: which it stores 255 for a stem.
_WORDS_PER_TEXT: Final = 250
#: Where more of the first records are left to PostgreSQL, all are.
_MAX_UNKNOWN_SHARE: Final = 0.2
#: This number of vectors is compared with PostgreSQL's before any is used.
_COMPARED_RECORDS: Final = 200

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class DatabaseLexicon:
    """The words of a language, as a database has them."""

    connection: BaseDatabaseWrapper
    language: str

    def find_stems(self, words: Sequence[str]) -> Mapping[str, str]:
        """Find the stems of words of ASCII, without the words that are their own stems."""
        stems = {}
        for start in range(0, len(words), _WORDS_PER_TEXT):
            group = words[start : start + _WORDS_PER_TEXT]
            found = execute(
                self.connection,
                "SELECT lexeme, positions FROM unnest(to_tsvector(%s::regconfig, %s))",
                [self.language, " ".join(group)],
            )
            for lexeme, positions in found:
                for position in positions:
                    if lexeme != group[position - 1]:
                        stems[group[position - 1]] = _quote(lexeme)
        return stems

    def find_parts(self, chunks: Sequence[str]) -> Mapping[str, Parts]:
        """Find the parts of chunks with other letters, as far as they have any."""
        rows = execute(
            self.connection,
            "SELECT number, ARRAY(SELECT lexeme FROM unnest(vector)),"
            " ARRAY(SELECT coalesce(array_to_string(positions, ' '), '') FROM unnest(vector))"
            " FROM (SELECT number, datastore_search_lexemes("
            "datastore_search_words(chunk), %s::regconfig) AS vector"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS chunks (chunk, number)) AS vectors",
            [self.language, list(chunks)],
        )
        found = {
            chunks[number - 1]: _read_parts(lexemes, positions)
            for number, lexemes, positions in rows
        }
        return {chunk: parts for chunk, parts in found.items() if parts}


def _read_parts(lexemes: list[str], positions: list[str]) -> Parts | None:
    """Read the vector of a chunk; None unless each position has one word."""
    words: dict[int, str] = {}
    other_forms = []
    for lexeme, text in zip(map(_quote, lexemes), positions, strict=True):
        numbers = [int(number) for number in text.split()]
        words |= dict.fromkeys(numbers, lexeme)
        if not numbers:
            other_forms.append(lexeme)
    if sorted(words) != list(range(1, len(words) + 1)):
        return None
    return Parts(tuple(words[number] for number in sorted(words)), tuple(other_forms))


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


# Whether vectors can be built ---------------------------------------------------------------------


def can_build_vectors(
    connection: BaseDatabaseWrapper, language: str, records: Sequence[str], texts: Sequence[str]
) -> bool:
    """
    Return whether a load can build the vectors of a file, by its first records and their texts.

    It cannot in a configuration that was made or changed on this server, or in a database whose
    lower case of ASCII differs from English; nor if PostgreSQL refuses a record.
    """
    if not _has_plain_words(connection, language):
        return False
    vectors = VectorBuilder(DatabaseLexicon(connection, language)).build(texts)
    if vectors.count(None) > len(vectors) * _MAX_UNKNOWN_SHARE:
        return False
    try:
        are_equal = fetch_value(
            connection,
            "SELECT bool_and(vector::tsvector = datastore_search_vector("
            "record::jsonb, %s::regconfig)) IS NOT false"
            " FROM unnest(%s::text[], %s::text[]) AS compared (record, vector)",
            [language, list(records[:_COMPARED_RECORDS]), vectors[:_COMPARED_RECORDS]],
        )
    except DataError:  # the COPY will name the record
        return False
    return bool(are_equal)


def _has_plain_words(connection: BaseDatabaseWrapper, language: str) -> bool:
    """Return whether words of ASCII are what PostgreSQL's own configurations make of them."""
    is_plain = fetch_value(
        connection,
        "SELECT cfgnamespace = 'pg_catalog'::regnamespace"
        " AND cfgparser = (SELECT oid FROM pg_ts_parser WHERE prsname = 'default'"
        "  AND prsnamespace = 'pg_catalog'::regnamespace)"
        " AND (SELECT count(*) = 3 AND bool_and(mapdict = 'pg_catalog.simple'::regdictionary)"
        "  FROM pg_ts_config_map JOIN ts_token_type(cfgparser) ON tokid = maptokentype"
        "  WHERE mapcfg = pg_ts_config.oid AND alias IN ('uint', 'sfloat', 'numword'))"
        " AND (SELECT dictinitoption IS NULL FROM pg_ts_dict"
        "  WHERE oid = 'pg_catalog.simple'::regdictionary)"
        " AND to_tsvector('pg_catalog.simple', upper(%s)) = %s::tsvector"
        " FROM pg_ts_config WHERE oid = %s::regconfig",
        [_LETTERS, f"{_LETTERS}:1", language],
    )
    return bool(is_plain)

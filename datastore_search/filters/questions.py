"""
What a full-text query means in SQL, over a record table's ``data`` and ``search``.

Source: CKAN ``datastore_search``, section 7 of its semantics, read more widely:
``docs/decisions/0003``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from psycopg import sql

from ..exceptions import InvalidParameters, UnknownQuestionField
from .clauses import Clause


@dataclass(frozen=True, slots=True)
class Question:
    """
    A full-text query over all fields, or over one.

    ``plain`` questions are words; others are written in PostgreSQL's query language.
    """

    text: str
    language: str
    plain: bool
    field: str | None = None

    @property
    def rank_name(self) -> str:
        """Name the member that says how well a record matches."""
        return "rank" if self.field is None else f"rank {self.field}"

    def matches(self) -> Clause:
        """Say that a record matches; the index finds it by the words of the whole record."""
        asked = self._asked()
        if self.field is None:
            return Clause(sql.SQL("search @@ {}").format(asked.text), asked.parameters)
        vector = self._vector()
        return Clause(
            sql.SQL("(search @@ {asked} AND {vector} @@ {asked})").format(
                asked=asked.text, vector=vector.text
            ),
            [*asked.parameters, *vector.parameters, *asked.parameters],
        )

    def rank(self) -> Clause:
        """Say how well a record matches."""
        asked, vector = self._asked(), self._vector()
        return Clause(
            sql.SQL("ts_rank({}, {})").format(vector.text, asked.text),
            [*vector.parameters, *asked.parameters],
        )

    def _asked(self) -> Clause:
        if self.plain:
            return Clause(
                sql.SQL("datastore_search_question(%s, %s::regconfig)"), [self.text, self.language]
            )
        text = unicodedata.normalize("NFC", self.text)
        asked = Clause(sql.SQL("to_tsquery(%s::regconfig, %s)"), [self.language, text])
        if "<" not in text:
            return asked
        # A phrase, ``old <-> bridge``: only words as written know their places in the record.
        return Clause(
            sql.SQL("({} || to_tsquery('pg_catalog.simple', %s))").format(asked.text),
            [*asked.parameters, text],
        )

    def _vector(self) -> Clause:
        if self.field is None:
            return Clause(sql.SQL("search"))
        return Clause(
            sql.SQL("datastore_search_vector(jsonb_build_object('', data -> %s), %s::regconfig)"),
            [self.field, self.language],
        )


def questions_of(
    q: str, by_field: Mapping[str, str], *, language: str, plain: bool, names: Iterable[str]
) -> tuple[Question, ...]:
    """
    Make the questions of a search; all of them must be met.

    Raises: ``InvalidParameters`` for fields that are not among ``names``.
    """
    known = {"_id", *names}
    faults = [UnknownQuestionField(field=name[:100]) for name in by_field if name not in known]
    if faults:
        raise InvalidParameters(faults)
    questions = [Question(q, language, plain)] if q else []
    questions += [Question(text, language, plain, name) for name, text in by_field.items()]
    return tuple(questions)

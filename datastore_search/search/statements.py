"""
The statements of one query over one relation.

Which of them is run, and how a page is read, ``search`` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from psycopg import sql

from ..exceptions import (
    InvalidParameter,
    InvalidParameters,
    SortOutsideFields,
    UnknownResultField,
    UnknownSortField,
    UnsortableField,
)
from ..field_types import Cast, Operators, field_types
from ..filters import Clause, Question, Types, all_of, meets, questions_of
from . import records
from .query import ID, Query, RecordsFormat, SortKey

Result = TypeVar("Result")

_LETTERS_SHOWN = 100
_RANK_TYPE = "float"
_ID_TYPE = "int"


@dataclass(frozen=True, slots=True)
class Relation:
    """
    What is searched: something with the columns ``_id``, ``data`` and ``search``.

    ``names`` maps the names of the fields to those of their types, in order; those that are
    ``sparse`` some records lack; ``rows`` counts all records where that is known.
    """

    source: Clause
    names: Mapping[str, str]
    language: str
    rows: int | None
    sparse: frozenset[str] = frozenset()


class Statements:
    """
    The statements of one query.

    Raises: ``InvalidParameters``, everything in the query that does not fit the relation.
    """

    def __init__(
        self,
        relation: Relation,
        query: Query,
        cast: Cast,
        faults: Iterable[InvalidParameter] = (),
    ) -> None:
        """Fit the query to the relation; ``faults`` are reported with those found here."""
        faults = list(faults)
        self._relation, self._query = relation, query
        questions: tuple[Question, ...] = _collecting(
            faults,
            lambda: questions_of(
                query.q,
                query.q_fields,
                language=query.language or relation.language,
                plain=query.plain,
                names=relation.names,
            ),
            (),
        )
        self._ranks = {
            question.rank_name: question.rank()
            for question in questions
            if question.rank_name not in relation.names  # a field of that name hides the rank
        }
        where = _collecting(
            faults,
            lambda: meets(query.filters, Types(relation.names, cast, relation.sparse)),
            Clause(sql.SQL("")),
        )
        self._where = all_of([where, *(question.matches() for question in questions)])
        self.names: tuple[str, ...] = _collecting(faults, self._asked_names, ())
        #: Without ``fields`` nothing is merged, since ``_id`` is among them.
        self._distinct = query.distinct and ID not in self.names
        self._keys: tuple[SortKey, ...] = _collecting(faults, self._sort_keys, ())
        if faults:
            raise InvalidParameters(faults)

    # What is asked --------------------------------------------------------------------------------

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the records' members, in order."""
        return tuple((name, self._type(name)) for name in self.names)

    @property
    def is_whole(self) -> bool:
        """Tell whether every record matches."""
        return not (self._query.filters or self._questioned or self._distinct)

    @property
    def is_by_id(self) -> bool:
        """Tell whether the records come in the order of their keys, or in the opposite one."""
        by_id = not self._keys or self._keys[0].field == ID
        return by_id and not self._distinct and not (self._questioned and not self._keys)

    @property
    def is_descending(self) -> bool:
        """Tell whether the first key goes down."""
        return bool(self._keys) and self._keys[0].descending

    @property
    def _questioned(self) -> bool:
        return bool(self._query.q or self._query.q_fields)

    def _asked_names(self) -> tuple[str, ...]:
        if not self._query.fields:
            return (ID, *self._relation.names, *self._ranks)
        known = {ID, *self._relation.names, *self._ranks}
        unknown = [name for name in self._query.fields if name not in known]
        if unknown:
            raise InvalidParameters(
                UnknownResultField(field=name[:_LETTERS_SHOWN]) for name in unknown
            )
        return tuple(dict.fromkeys(self._query.fields))

    def _sort_keys(self) -> tuple[SortKey, ...]:
        faults = [fault for key in self._query.sort if (fault := self._sort_fault(key))]
        if faults:
            raise InvalidParameters(faults)
        first: dict[str, SortKey] = {}
        for key in self._query.sort:
            first.setdefault(key.field, key)
        return tuple(first.values())

    def _sort_fault(self, key: SortKey) -> InvalidParameter | None:
        name = key.field[:_LETTERS_SHOWN]
        if key.field != ID and key.field not in self._relation.names:
            return UnknownSortField(field=name)
        kind = self._type(key.field)
        if key.field != ID and Operators.ORDER not in field_types[kind].operators:
            return UnsortableField(field=name, type=kind)
        if self._distinct and self.names and key.field not in self.names:
            return SortOutsideFields(field=name)
        return None

    def _type(self, name: str) -> str:
        if name == ID:
            return _ID_TYPE
        return self._relation.names.get(name, _RANK_TYPE)

    # Statements -----------------------------------------------------------------------------------

    def count(self) -> Clause:
        """Count the matches."""
        if not self._distinct:
            return self._selecting(Clause(sql.SQL("count(*)")))
        return _over("SELECT count(*) FROM ({}) AS found", self._combinations())

    def page(self, *, few: bool) -> Clause:
        """Read the texts of one page's records; ``few`` says that all matches can be sorted."""
        columns = self._columns()
        write = (
            records.as_list
            if self._query.records_format is RecordsFormat.LISTS
            else records.as_object
        )
        page = self._page(few=few)
        return Clause(
            sql.SQL("SELECT {} FROM ({}) AS page").format(write(columns), page.text),
            page.parameters,
        )

    def cells(self, *, few: bool) -> Clause:
        """Read the cells of one page's records."""
        cells, fields = records.as_cells(self._columns())
        page = self._page(few=few)
        return Clause(
            sql.SQL("SELECT {} FROM ({}) AS page{}").format(cells, page.text, fields),
            page.parameters,
        )

    def last_id(self, *, few: bool) -> Clause:
        """Read the ``_id`` of the page's last record."""
        last = sql.SQL("min" if self.is_descending else "max")
        page = self._page(few=few)
        return Clause(
            sql.SQL("SELECT {}(_id) FROM ({}) AS page").format(last, page.text), page.parameters
        )

    def _page(self, *, few: bool) -> Clause:
        if self._distinct:
            return self._paged(
                _over("SELECT * FROM ({}) AS page", self._combinations()), self._distinct_order()
            )
        if self.is_by_id and self.is_whole:
            return self._walked()
        selected = self._selecting(
            _listed([Clause(sql.SQL("_id")), Clause(sql.SQL("data")), *self._rank_columns()])
        )
        return self._paged(selected, self._order(few=few))

    def _selecting(self, what: Clause) -> Clause:
        source, where = self._relation.source, self._where
        return Clause(
            sql.SQL("SELECT {} FROM {} WHERE {}").format(what.text, source.text, where.text),
            [*what.parameters, *source.parameters, *where.parameters],
        )

    def _paged(self, selected: Clause, order: Clause) -> Clause:
        limit, parameters = self._limit()
        return Clause(
            sql.SQL("{} ORDER BY {}{}").format(selected.text, order.text, limit),
            [*selected.parameters, *order.parameters, *parameters],
        )

    def _limit(self) -> tuple[sql.Composable, list[int]]:
        if self._query.limit is None:
            return sql.SQL(" OFFSET %s"), [self._query.offset]
        return sql.SQL(" LIMIT %s OFFSET %s"), [self._query.limit, self._query.offset]

    def _walked(self) -> Clause:
        """Skip over the keys alone, in the index, and only then fetch records."""
        source = self._relation.source
        start = Clause(sql.SQL("true"))
        order = sql.SQL("_id DESC" if self.is_descending else "_id")
        if self._query.offset:
            start = Clause(
                sql.SQL("_id {} (SELECT _id FROM {} ORDER BY {} LIMIT 1 OFFSET %s)").format(
                    sql.SQL("<=" if self.is_descending else ">="), source.text, order
                ),
                [*source.parameters, self._query.offset],
            )
        limit = [] if self._query.limit is None else [self._query.limit]
        return Clause(
            sql.SQL("SELECT _id, data FROM {} WHERE {} ORDER BY {}{}").format(
                source.text, start.text, order, sql.SQL(" LIMIT %s" if limit else "")
            ),
            [*source.parameters, *start.parameters, *limit],
        )

    # Order ----------------------------------------------------------------------------------------

    def _order(self, *, few: bool) -> Clause:
        if self.is_by_id:
            # The fence keeps PostgreSQL from walking the whole key in search of few matches.
            key = "_id + 0" if few else "_id"
            return Clause(sql.SQL(key + (" DESC" if self.is_descending else "")))
        if not self._keys:
            places = range(len(self._ranks))
            return Clause(sql.SQL(", ".join([*(f"rank{n} DESC" for n in places), "_id"])))
        keys = [_ordered(key, self._key(key.field)) for key in self._keys]
        if all(key.field != ID for key in self._keys):
            keys.append(Clause(sql.SQL("_id")))
        return _listed(keys)

    def _key(self, name: str) -> Clause:
        if name == ID:
            return Clause(sql.SQL("_id"))
        template = sql.SQL(field_types[self._type(name)].key)
        return Clause(template.format(v=sql.SQL("(data -> %s)")), [name])

    def _distinct_order(self) -> Clause:
        keys = []
        for key in self._keys:
            column = sql.SQL(f"c{self.names.index(key.field)}")
            template = sql.SQL(field_types[self._type(key.field)].key)
            keys.append(_ordered(key, Clause(template.format(v=column))))
        keys += [Clause(sql.SQL(f"c{place}")) for place in range(len(self.names))]
        return _listed(keys)

    # Columns --------------------------------------------------------------------------------------

    def _columns(self) -> list[records.Column]:
        ranks = {name: place for place, name in enumerate(self._ranks)}
        columns = []
        for place, (name, kind) in enumerate(self.fields):
            value, packed = None, True
            if self._distinct:
                value, packed = sql.SQL(f"page.c{place}"), name not in ranks
            elif name == ID:
                value, packed = sql.SQL("page._id"), False
            elif name in ranks:
                value, packed = sql.SQL(f"page.rank{ranks[name]}"), False
            columns.append(records.Column(name, kind, value, packed))
        return columns

    def _rank_columns(self) -> list[Clause]:
        """Rank the matches, if that is asked for or decides the order."""
        if self._keys and not any(name in self._ranks for name in self.names):
            return []
        return [
            _over(f"{{}} AS rank{place}", rank) for place, rank in enumerate(self._ranks.values())
        ]

    def _combinations(self) -> Clause:
        """Read each combination of the asked fields once."""
        columns = [
            _over(f"{{}} AS c{place}", self._ranks[name])
            if name in self._ranks
            else Clause(sql.SQL(f"coalesce(data -> %s, 'null') AS c{place}"), [name])
            for place, name in enumerate(self.names)
        ]
        listed = _listed(columns)
        return self._selecting(
            Clause(sql.SQL("DISTINCT {}").format(listed.text), listed.parameters)
        )


def _over(template: str, clause: Clause) -> Clause:
    return Clause(sql.SQL(template).format(clause.text), clause.parameters)


def _listed(clauses: Iterable[Clause]) -> Clause:
    clauses = list(clauses)
    return Clause(
        sql.SQL(", ").join(clause.text for clause in clauses),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def _ordered(key: SortKey, value: Clause) -> Clause:
    direction = " DESC" if key.descending else ""
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
    return _over(f"{{}}{direction}{nulls}", value)


def _collecting(
    faults: list[InvalidParameter], make: Callable[[], Result], otherwise: Result
) -> Result:
    """Make something, or keep its faults for later."""
    try:
        return make()
    except InvalidParameters as error:
        faults.extend(error.faults)
        return otherwise

"""A page of records: the statements of a plan are run until one of them has found it."""

from __future__ import annotations

from contextlib import nullcontext

from ..filters import Clause, compose
from ..messages.access import RecordsIncomplete
from .binding import BoundQuery, bind_query
from .plan import Plan, RankSort, choose_plans
from .query import NextPage, Page, Query, RecordsFormat
from .reads import JSON_LINES, ConsistentRead, compose_csv_options, translate_database_errors
from .rendering import FoundRecords, RawJson
from .spool import Spool
from .top_matches import build_top_matches_key, get_top_matches, keep_top_matches

_DELIMITERS = {RecordsFormat.CSV: ",", RecordsFormat.TSV: "\t"}


def read_page(read: ConsistentRead, query: Query) -> Page:
    """
    Read the records that match a query.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``; ``RecordsIncomplete``;
    ``StaleVersion`` when the resource must be read again.
    """
    slot = nullcontext() if query.is_light else read.session.hold_slot()
    with slot, translate_database_errors(plain=query.plain):
        return _read_page(read, bind_query(read, query))


def _read_page(read: ConsistentRead, bound: BoundQuery) -> Page:
    """Read a page, from the top matches or to keep them."""
    query = bound.query
    key = build_top_matches_key(read, bound) if bound.is_ranked else None
    top = None if key is None else get_top_matches(key, is_counted=query.include_total)
    known_total = total = bound.known_total if top is None else top.total
    if total is None and query.include_total and not bound.counts_matches:
        total = count_matches(read, bound)
    next_page = None
    if query.limit == 0 or (total is not None and query.offset >= total):
        found = FoundRecords(RawJson([b'""'] if query.is_text else [b"[", b"]"]), 0, 0)
        if known_total:
            check_has_records(read)
    else:
        lists_top = key is not None and top is None
        for plan in choose_plans(bound, total, top, lists_top=lists_top):
            found = _run_plan(read, plan)
            if plan.is_complete(found):
                break
            found.records.close()
        if known_total is not None and found.count < bound.count_page(known_total):
            found.records.close()
            raise RecordsIncomplete
        total = found.total if plan.counts_matches else total
        if key is not None and isinstance(plan, RankSort):
            keep_top_matches(key, found.head, is_counted=plan.counts_matches)
        if query.include_next_page and bound.is_by_id:
            next_page = _find_next_page(read, plan)
    return Page(
        records=found.records,
        total=total if query.include_total else None,
        fields=bound.fields,
        next_page=next_page,
        members={each.name: each.read(read, bound, found) for each in query.members},
        record_count=found.count,
    )


def count_matches(read: ConsistentRead, bound: BoundQuery) -> int:
    """Count the matches by a statement."""
    ((total,),) = read.fetch_rows(bound.select_count())
    return int(total)


def _run_plan(read: ConsistentRead, plan: Plan) -> FoundRecords:
    """Run a plan; what is copied needs a snapshot."""
    query, sizes = plan.bound.query, plan.bound.relation.sizes
    if query.is_copied:
        statement = plan.select_cells() if query.is_text else plan.select_texts(begin=",")
        return copy_records(read, statement, query.records_format)
    found = read.fetch_texts(
        plan.select_texts(),
        batch_rows=sizes.choose_batch_rows(query.limit),
        # Ranking without counting may scan half the table (``docs/decisions/0004``).
        is_scan=isinstance(plan, RankSort) and not plan.counts_matches,
    )
    sizes.note_size(found.count, found.size_bytes)
    return found


def copy_records(
    read: ConsistentRead, statement: Clause, records_format: RecordsFormat
) -> FoundRecords:
    """Copy cells into a spool, or texts each after a comma; the session must show one snapshot."""
    delimiter = _DELIMITERS.get(records_format)
    options = JSON_LINES if delimiter is None else compose_csv_options(delimiter)
    build = Spool.from_list_lines if delimiter is None else Spool.from_text_lines
    with read.session.watch_statements(), read.copy(statement, options) as copy:
        spool = build(map(bytes, copy))
        return FoundRecords(spool, copy.cursor.rowcount, spool.size_bytes)


def check_has_records(read: ConsistentRead) -> None:
    """
    Check that a table that should have records has one, when the answer is to have none.

    Raises: ``RecordsIncomplete``.
    """
    if not read.fetch_rows(compose("SELECT 1 FROM {} LIMIT 1", read.relation.source)):
        raise RecordsIncomplete


def _find_next_page(read: ConsistentRead, plan: Plan) -> NextPage | None:
    """Read where the next page begins, in the order of ``_id``."""
    ((last_id,),) = read.fetch_rows(plan.select_last_id())
    operator = "lt" if plan.bound.is_descending else "gt"
    return None if last_id is None else NextPage(operator, int(last_id))

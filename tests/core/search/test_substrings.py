"""Parts of texts: with the index of substrings, and without it or its extension."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st

from datastore_search.database.statements import execute, fetch_column, fetch_value
from datastore_search.filters import parse_filters
from datastore_search.models import Resource
from datastore_search.search import Query

from ...backups.servers import Server, find_machine_programs, run_server
from ...builders import (
    SURVEY,
    act,
    check_error,
    fetch_page,
    fill_table,
    get_ids,
    get_record_table,
    get_result,
    make_resource,
    make_writer_token,
    search,
)
from ...deployment.portals import empty_portal, migrate_portal, use_databases

KINDS = ["filters", "words", "substrings"]

#: Every pair of these is somewhere: wildcards, escapes, quotes, and letters whose case is special.
ALPHABET = "abcABC19%_\\\"'/ \n\tńΣσςİıIiẞß\u0307đĐÀà京都นี่"

#: The words of a query language for each database: with its own lower case of some letters.
DATABASES = {"libc": "", "icu": "LOCALE_PROVIDER icu ICU_LOCALE 'tr'"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with run_server(find_machine_programs()) as started:
        yield started


@contextmanager
def open_portal(server: Server, database: str, options: str = "") -> Iterator[None]:
    """Use a database with the extension, in a schema that is not on the search path."""
    server.create_database(database, options)
    address = server.build_url(database)
    server.run_sql(address, "CREATE SCHEMA extensions")
    server.run_sql(address, "CREATE EXTENSION pg_trgm SCHEMA extensions")
    with use_databases({"default": address}):
        migrate_portal()
        yield


@pytest.fixture(scope="module")
def _portal(server: Server, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), open_portal(server, "portal"):
        yield


@pytest.fixture
def portal(_portal: None) -> Iterator[None]:
    """A portal without resources and users."""
    yield
    empty_portal()
    execute(connection, "TRUNCATE auth_user CASCADE")


def make_indexed(csv: str = SURVEY, **values: Any) -> Resource:
    return make_resource(csv, indexes=KINDS, **values)


def list_substring_indexes(resource: Resource) -> list[str]:
    return fetch_column(
        connection,
        "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexdef LIKE %s",
        [get_record_table(resource), "%extensions.gin_trgm_ops%"],
    )


def create_table(token: str, **sent: Any) -> dict[str, Any]:
    return get_result(act(Client(), "datastore_create", sent, token))


def find_refused(response: Any) -> list[str]:
    return [name for name in check_error(response, 409) if name != "__type"]


def find_ids(resource: Resource, **parameters: Any) -> list[int]:
    return get_ids(search(Client(), resource, **parameters))


# The same answers ---------------------------------------------------------------------------------


def make_tables() -> tuple[list[str], Resource, Resource]:
    """Make texts, and two resources of them: with the index and without."""
    letters = random.Random(29)
    texts = ["".join(letters.choices(ALPHABET, k=letters.randrange(40))) for _ in range(400)]
    records = [{"text": text, "number": index * 137} for index, text in enumerate(texts)]
    fields = [{"id": "text", "type": "text"}, {"id": "number", "type": "int4"}]
    token = make_writer_token()
    resources = []
    for number, kinds in enumerate([KINDS, ["filters", "words"]]):
        resource = Resource.objects.create(name=f"texts-{number}", indexes=kinds)
        create_table(token, resource_id=str(resource.pk), fields=fields, records=records)
        resource.refresh_from_db()
        resources.append(resource)
    return texts, resources[0], resources[1]


@pytest.mark.parametrize("database", ["libc", pytest.param("icu", marks=pytest.mark.slow)])
def test_the_index_changes_no_answer(server: Server, django_db_blocker: Any, database: str) -> None:
    with (
        django_db_blocker.unblock(),
        open_portal(server, f"answers_{database}", DATABASES[database]),
    ):
        texts, indexed, plain = make_tables()
        execute(connection, "SET enable_seqscan = off")  # the table is small

        @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(data=st.data())
        def compare_answers(data: st.DataObject) -> None:
            text = data.draw(st.sampled_from(texts))
            start = data.draw(st.integers(0, len(text)))
            piece = text[start : start + data.draw(st.integers(1, 80))]
            cases = [piece, piece.lower(), piece.upper(), piece.swapcase()]
            part = data.draw(st.sampled_from(cases))
            known = ["contains", "icontains", "startswith", "istartswith"]
            operator = data.draw(st.sampled_from(known))
            conditions = parse_filters({"text": {operator: part}})
            query = Query(limit=1_000, filters=conditions, fields=("_id",))
            answers = [fetch_page(resource, query).text for resource in (indexed, plain)]
            assert answers[0] == answers[1]

        compare_answers()
        for resource in (indexed, plain):
            found = find_ids(resource, filters={"number": {"contains": "370"}}, limit=1_000)
            assert found == [n + 1 for n in range(len(texts)) if "370" in str(n * 137)]


def test_a_rare_part_is_found_by_the_index(portal: None) -> None:
    rows = "\n".join(f"{'the same words in each row ' * 8}{n * 7919}" for n in range(3_000))
    resource = make_indexed(f"text\n{rows}\nquayside\nKieler Straße\nQuelle δημοτική κλινική\n")
    (name,) = list_substring_indexes(resource)

    def count_scans() -> int:
        execute(connection, "SELECT pg_stat_force_next_flush()")
        statement = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s"
        return int(fetch_value(connection, statement, [name]))

    for operator in ("contains", "icontains", "startswith", "istartswith"):
        before = count_scans()
        assert find_ids(resource, filters={"text": {operator: "quays"}}) == [3_001]
        assert count_scans() > before
    for asked, found in (("STRASSE", [3_002]), ("Straße", [3_002]), ("ΚΛΙΝΙΚΗ", [3_003])):
        before = count_scans()
        assert find_ids(resource, filters={"text": {"icontains": asked}}) == found
        assert (count_scans() > before) is (asked != "ΚΛΙΝΙΚΗ")  # vowels may have accents


# q ------------------------------------------------------------------------------------------------


PARTS: list[tuple[object, list[int]]] = [
    ("idge", [1]),
    ("ridg ammal", []),
    ("level idge", [1]),
    ("ODGE", []),
    ("xes", [2]),
    ("ượng", [4]),
    ("ng", []),
    ("at", [6, 1]),
    ("&", []),
    ({"title": "idge"}, [1]),
    ({"subject": "idge"}, []),
    ({"subject": "ershed", "title": "idge"}, [1]),
    ({"subject": "ERSHED", "title": "dge"}, [1]),
    ({"title": "watershed"}, []),
]


def test_q_finds_parts_of_words(portal: None) -> None:
    resource = make_indexed()

    for q, expected in PARTS:
        assert find_ids(resource, q=q, substrings=True) == expected, q

    for q in ("running", "ha noi", "fox", "mammal other", "nuoc", "ac", "10.50", "²"):
        assert set(find_ids(resource, q=q)) <= set(find_ids(resource, q=q, substrings=True))


def test_a_whole_word_ranks_above_a_part(portal: None) -> None:
    resource = make_indexed("title\nNewport\nThe port of Newport\nReport\nPort\n")

    found = get_result(search(Client(), resource, q="port", substrings=True))

    assert [each["_id"] for each in found["records"]] == [4, 2, 1, 3]
    ranks = [each["rank"] for each in found["records"]]
    assert ranks[1] > ranks[2] == ranks[3] == 0
    assert found["substrings"] is True
    # Operators are characters.
    assert find_ids(resource, q="newpor -of", substrings=True) == [2]


def test_field_separators_and_escapes_are_no_letters(portal: None) -> None:
    token = make_writer_token()
    records = [{"a": "first\nabc", "b": None}, {"a": "xnabcx", "b": "annul"}]
    sent = {
        "resource": {"name": "lines"}, "records": records, "index_substrings": True,
        "fields": [{"id": "a", "type": "text"}, {"id": "b", "type": "text"}],
    }  # fmt: skip
    created = create_table(token, **sent)
    resource = Resource.objects.get(pk=created["resource_id"])

    assert find_ids(resource, q="nabc", substrings=True) == [2]
    assert find_ids(resource, q="null", substrings=True) == []
    assert find_ids(resource, q="nnul", substrings=True) == [2]


@pytest.mark.parametrize("values", [{}, {"private": True}])
def test_a_private_resource_is_refused_before_its_indexes_are_known(
    portal: None, values: dict[str, Any]
) -> None:
    resource = make_resource(**values)

    response = search(Client(), resource, q="idge", substrings=True)

    assert response.status_code == (403 if values else 409)


def test_substrings_have_at_most_ten_words_and_no_operators(portal: None) -> None:
    resource = make_indexed()
    many = " ".join(f"word{number}" for number in range(11))

    for parameters, name in (({"q": many}, "q"), ({"q": "a & b", "plain": False}, "substrings")):
        response = search(Client(), resource, substrings=True, **parameters)
        assert find_refused(response) == [name]


# The index stays ----------------------------------------------------------------------------------


def test_new_tables_and_writes_keep_the_index(portal: None) -> None:
    resource = make_indexed()
    token = make_writer_token()

    fill_table(resource, SURVEY + "007,air,,Quayside,1,\n")
    assert len(list_substring_indexes(resource)) == 1
    assert find_ids(resource, q="aysid", substrings=True) == [7]

    record = {"code": "009", "title": "Boatyard"}
    sent = {"resource_id": str(resource.pk), "records": [record], "method": "insert", "force": True}
    get_result(act(Client(), "datastore_upsert", sent, token))

    resource.refresh_from_db()
    assert len(list_substring_indexes(resource)) == 1
    assert find_ids(resource, q="yard", substrings=True) == [8]


def test_datastore_create_makes_and_drops_the_index(portal: None) -> None:
    token = make_writer_token()
    sent = {"resource": {"name": "new"}, "records": [{"a": "Newport"}], "index_substrings": True}
    created = create_table(token, **sent)
    resource = Resource.objects.get(pk=created["resource_id"])
    same = {"resource_id": str(resource.pk), "force": True}

    assert created["index_substrings"] is True
    assert len(list_substring_indexes(resource)) == 1
    assert find_ids(resource, q="port", substrings=True) == [1]

    create_table(token, **same, records=[])
    assert len(list_substring_indexes(resource)) == 1

    create_table(token, **same, index_substrings=False)
    assert list_substring_indexes(resource) == []
    refused = search(Client(), resource, q="port", substrings=True)
    assert find_refused(refused) == ["substrings"]

    fill_table(resource, SURVEY)
    assert list_substring_indexes(resource) == []


@pytest.mark.slow
def test_a_restored_dump_has_the_index(portal: None, server: Server) -> None:
    make_indexed()
    server.create_database("restored")
    url, restored_url = map(server.build_url, ("portal", "restored"))

    server.run_commands(
        'pg_dump "$URL" | psql -Xq --set=ON_ERROR_STOP=1 "$RESTORED_URL"',
        URL=url, RESTORED_URL=restored_url,
    )  # fmt: skip

    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
    assert server.run_sql(restored_url, indexes) == server.run_sql(url, indexes)
    assert "extensions.gin_trgm_ops" in server.run_sql(restored_url, indexes)


# Without the extension ----------------------------------------------------------------------------


def test_without_the_extension_a_table_leaves_the_index_out(db: None) -> None:
    resource = make_indexed()
    version = resource.table_version
    assert version is not None

    assert version.indexes == ["filters", "words"]
    assert find_ids(resource, filters={"title": {"icontains": "IDGE"}}) == [1]
    response = search(Client(), resource, q="idge", substrings=True)
    assert find_refused(response) == ["substrings"]


def test_without_the_extension_datastore_create_refuses_the_index(db: None) -> None:
    sent = {"resource": {"name": "new"}, "records": [{"a": "b"}], "index_substrings": True}

    response = act(Client(), "datastore_create", sent, make_writer_token())

    assert find_refused(response) == ["index_substrings"]
    assert not Resource.objects.exists()

"""Searches of the catalogue find tables by the words of their records."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from threading import enumerate as list_threads
from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.models import F
from django.test import Client

from datastore_search.contrib.catalogue import contents
from datastore_search.contrib.catalogue.contents import read_changed_datasets
from datastore_search.contrib.catalogue.models import Dataset, DatasetText
from datastore_search.contrib.catalogue.query import find_plain_words
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.database.statements import execute
from datastore_search.models import Resource

from ..builders import (
    act,
    get_record_table,
    get_result,
    make_listed_resource,
    make_resource,
    make_token,
    make_writer_token,
    run_command,
)

BIRDS = "bird,place\nCanada goose,North lake\nSnow goose,South lake\nMallard,Canada bay\n"


@pytest.fixture
def birds(no_resource: None) -> Resource:
    return make_resource(BIRDS, name="birds", title="Strikes")


@pytest.fixture
def rivers(no_resource: None) -> Resource:
    return make_resource("name,length\nHương,104\nĐà,910\n", name="rivers", title="Rivers")


@pytest.fixture(params=["live", "read"])
def prepare(request: pytest.FixtureRequest) -> Callable[[], object]:
    """Whether the words of tables have been read, or each table is asked."""
    return (lambda: None) if request.param == "live" else read_changed_datasets


def search(client: Client, token: str = "", **sent: Any) -> dict[str, Any]:
    return get_result(act(client, "package_search", sent, token))


def find(client: Client, q: str, **sent: Any) -> list[str]:
    return sorted(each["name"] for each in search(client, q=q, **sent)["results"])


@pytest.mark.parametrize(
    ("q", "is_found"),
    [
        ("goose", True),
        ("GEESE", False),
        ("mallards", True),  # by its stem
        ("goo", True),  # the last word may be a part
        ("canada goose", True),
        ("goose canada", True),
        ("mallard north", False),  # in different records
        ('"canada goose"', True),
        ('"goose canada"', False),
        ("goose water", False),
        ("strikes goose", False),  # one in the title alone
        ("goose OR zebra", False),  # only words and phrases are looked for in records
        ("?!", False),
    ],
)
@pytest.mark.usefixtures("birds", "rivers")
def test_tables_are_found_by_their_records(
    client: Client, prepare: Callable[[], object], q: str, is_found: bool
) -> None:
    prepare()

    assert find(client, q) == (["birds"] if is_found else [])


@pytest.mark.parametrize(
    ("q", "is_found"), [("goose -north", True), ("mallard -bay", False), ('goose -"goose"', False)]
)
@pytest.mark.usefixtures("birds")
def test_the_page_finds_records_without_excluded_words(
    client: Client, prepare: Callable[[], object], q: str, is_found: bool
) -> None:
    prepare()

    page = client.get("/en/datastore/", {"q": q}).content.decode()

    assert ("Strikes" in page) is is_found


def test_many_blanks_take_no_time() -> None:
    begun = time.process_time()

    assert find_plain_words("a" + " " * 9_990 + '"') == "a"
    assert time.process_time() - begun < 1


@pytest.mark.usefixtures("birds", "rivers")
@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("goose \\-Canada", ["birds"]),
        ('"snow \\"goose"', ["birds"]),
        ("\\-otter", []),
        ('goose ""', ["birds"]),
    ],
)
def test_what_is_escaped_is_no_operator(client: Client, q: str, found: list[str]) -> None:
    assert find(client, q) == found


@pytest.mark.usefixtures("birds", "rivers")
def test_a_lone_quotation_mark_takes_no_time(client: Client) -> None:
    begun = time.process_time()

    assert find(client, '\\"' + "a" * 9_900 + " goose") == ["birds"]
    assert time.process_time() - begun < 1


def test_the_number_of_records_is_told_with_a_link(client: Client, birds: Resource) -> None:
    result = search(client, q="goose")

    (resource,) = result["results"][0]["resources"]
    found = resource["records_found"]
    assert found.pop("url").endswith(f"/en/datastore/{birds.pk}/?q=goose")
    assert found == {"total": 2, "is_exact": True}
    assert "contents_complete" not in result
    assert "records_found" not in search(client, q="strikes")["results"][0]["resources"][0]


def test_more_records_than_are_counted_are_at_least_so_many(
    client: Client, birds: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MAX_COUNTED", 1)

    (resource,) = search(client, q="goose")["results"][0]["resources"]

    assert resource["records_found"]["total"] == 1
    assert resource["records_found"]["is_exact"] is False
    assert "≥ 1 record" in client.get("/en/datastore/?q=goose").content.decode()


def test_what_has_changed_since_is_found(client: Client, birds: Resource) -> None:
    read_changed_datasets()
    token = make_writer_token()
    records = [{"bird": "Kestrel", "place": "Tower"}]
    upsert = {"resource_id": str(birds.pk), "records": records, "method": "insert", "force": True}
    get_result(act(client, "datastore_upsert", upsert, token))

    assert find(client, "kestrel") == ["birds"]

    delete = {"resource_id": str(birds.pk), "filters": {"bird": "Mallard"}, "force": True}
    get_result(act(client, "datastore_delete", delete, token))

    assert find(client, "mallard") == []
    assert find(client, "goose") == ["birds"]


def test_texts_that_have_changed_since_are_found(client: Client, birds: Resource) -> None:
    read_changed_datasets()
    birds.title = "Collisions"
    birds.save()

    assert find(client, "collisions") == ["birds"]
    assert find(client, "strikes") == []


def test_what_is_older_than_its_words_is_found(client: Client, birds: Resource) -> None:
    read_changed_datasets()
    DatasetText.objects.update(version=F("version") + 1, words="'zebra'", read_at=None)

    assert find(client, "goose") == ["birds"]
    assert find(client, "zebra") == []


def test_words_are_read_again_once_the_old_ones_have_been_kept_a_while(
    client: Client, birds: Resource
) -> None:
    assert read_changed_datasets() == 1
    birds.save()
    assert read_changed_datasets() == 0

    DatasetText.objects.update(read_at="2020-01-01T00:00Z")

    assert read_changed_datasets() == 1
    assert read_changed_datasets() == 0


@pytest.mark.usefixtures("birds")
def test_what_another_process_has_just_read_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def write_rows(_connection: object, statement: object) -> int:
        tried.append(statement)
        raise IntegrityError

    monkeypatch.setattr(contents, "write_rows", write_rows)

    assert read_changed_datasets() == 0
    assert len(tried) == 1


@pytest.mark.usefixtures("birds", "rivers")
def test_a_read_only_database_is_not_asked_for_each_dataset(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with transaction.atomic():
        execute(connection, "SET TRANSACTION READ ONLY")
        with pytest.raises(InternalError):
            read_changed_datasets()
        transaction.set_rollback(True)

    assert len({record.args for record in caplog.records}) <= 2


def test_a_clean_up_forgets_the_words_of_deleted_records(client: Client, birds: Resource) -> None:
    read_changed_datasets()
    delete = {"resource_id": str(birds.pk), "filters": {"bird": "Mallard"}, "force": True}
    get_result(act(client, "datastore_delete", delete, make_writer_token()))

    out, _err = run_command("datastore_cleanup")

    assert "Read the words of datasets for searches of the catalogue: 1." in out
    assert "mallard" not in str(DatasetText.objects.get().words)


def test_records_of_private_tables_are_found_by_those_who_may_read_them(
    client: Client, rivers: Resource, prepare: Callable[[], object]
) -> None:
    make_resource(BIRDS, name="birds", private=True)
    prepare()
    token = make_token()

    assert search(client, q="goose")["count"] == 0
    assert search(client, token, q="goose")["count"] == 0
    assert search(client, token, q="goose", include_private=True)["count"] == 1
    assert search(client, q="goose", include_private=True)["count"] == 0


def test_a_dataset_is_found_by_the_records_of_its_parts(
    client: Client, birds: Resource, rivers: Resource, prepare: Callable[[], object]
) -> None:
    sync_dataset(Dataset(id="animals", name="animals", title="Animals"), [birds])
    prepare()

    (found,) = search(client, q="goose")["results"]

    assert found["name"] == "animals"
    assert found["resources"][0]["records_found"]["total"] == 2
    assert find(client, "hương") == ["rivers"]
    assert find(client, "animals") == ["animals"]


def test_conditions_hold_for_what_records_find(client: Client, birds: Resource) -> None:
    assert find(client, "goose", fq="name:birds") == ["birds"]
    assert find(client, "goose", fq="name:rivers") == []


@pytest.mark.parametrize("limit", ["MAX_RECORDS", "_MAX_WORD_BYTES"])
def test_tables_with_too_many_words_are_asked(
    client: Client, birds: Resource, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, limit, 1)
    read_changed_datasets()

    assert DatasetText.objects.get().words is None
    assert find(client, "goose") == ["birds"]
    assert find(client, "strikes") == ["birds"]


def test_a_megabyte_of_words_is_kept(rivers: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(len(word.encode()) for word in ("104", "910", "huong", "hương", "da", "đà"))
    monkeypatch.setattr(contents, "_MAX_WORD_BYTES", size)

    read_changed_datasets()

    assert DatasetText.objects.get().words is not None


def test_tables_that_are_not_asked_are_told(
    client: Client, birds: Resource, rivers: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MAX_ASKED", 1)

    result = search(client, q="hương")

    assert (result["count"], result["contents_complete"]) == (0, False)
    page = client.get("/en/datastore/?q=hương").content.decode()
    assert "The records of some tables were not searched in time." in page


@pytest.mark.usefixtures("birds", "rivers")
@pytest.mark.parametrize("path", ["api/3/action/package_search", "datastore/"])
def test_no_cache_in_front_keeps_what_is_not_complete(
    client: Client, path: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATASTORE_SEARCH_SURROGATE_MAX_AGE = timedelta(minutes=1)
    address = f"/en/{path}?q=hương"
    assert "Surrogate-Control" in client.get(address).headers

    monkeypatch.setattr(contents, "MAX_ASKED", 1)

    assert "Surrogate-Control" not in client.get(address).headers


def test_a_text_of_too_many_words_is_told(client: Client, no_resource: None) -> None:
    text = " ".join(map(str, range(100, 160)))
    make_resource(f"text\n{text}\n")

    result = search(client, q=f'"{text}"')

    assert (result["count"], result["contents_complete"]) == (0, False)


def test_a_lost_table_hides_no_other(client: Client, birds: Resource) -> None:
    make_listed_resource("lost")

    result = search(client, q="goose")

    assert [each["name"] for each in result["results"]] == ["birds"]
    assert result["contents_complete"] is False
    assert read_changed_datasets() == 2


@pytest.mark.django_db(transaction=True)
def test_a_search_keeps_no_locks_on_tables(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    table = get_record_table(make_resource(BIRDS))
    locks = "SELECT count(*) FROM pg_locks WHERE relation = %s::regclass"
    found: list[tuple[Any, ...]] = []

    def count(*_values: object) -> dict[object, object]:
        found.extend(execute(connection, locks, [table]))
        return {}

    monkeypatch.setattr(contents, "begin_reading", lambda: None)
    monkeypatch.setattr(contents.ContentSearch, "count", count)

    assert search(client, q="goose")["count"] == 1
    assert found == [(0,)]


def test_the_page_links_the_records(
    client: Client, birds: Resource, rivers: Resource, prepare: Callable[[], object]
) -> None:
    prepare()

    page = client.get("/en/datastore/?q=goose").content.decode()

    link = re.search(r'<a href="([^"]*\?q=goose)">2 records match</a>', page)
    assert link
    assert "Rivers" not in page
    assert client.get(link[1]).status_code == 200


@pytest.fixture
def no_thread_left() -> Iterator[None]:
    yield
    for thread in list_threads():
        if thread.name == "datastore_search_words":
            thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_search_has_the_words_read(
    client: Client, no_thread_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "_PAUSE_SECONDS", 0)
    birds = make_resource(BIRDS, name="birds")

    assert find(client, "goose") == ["birds"]
    for thread in list_threads():
        if thread.name == "datastore_search_words":
            thread.join()

    row = DatasetText.objects.get(resource=birds)
    assert "'goos'" in str(row.words)
    execute(connection, f"ALTER TABLE {get_record_table(birds)} RENAME TO moved")
    try:
        assert search(client, q="goose")["count"] == 1
    finally:
        execute(connection, f"ALTER TABLE moved RENAME TO {get_record_table(birds)}")

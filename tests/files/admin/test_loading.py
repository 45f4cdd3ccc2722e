"""From an upload to a load in the admin: the form, the preview, the progress, the report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from datastore_search.contrib.files.admin.display import get_queue_notice
from datastore_search.contrib.files.jobs import LoadOptions, drafts, queue
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load, LoadState, RowError
from datastore_search.contrib.files.sources.fetching import copy_source
from datastore_search.contrib.files.tables.locks import hold_job_lock
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Field, Resource

from ...builders import SURVEY, make_user
from ...core.admin.test_resources import LIST, build_form, build_inlines
from ..builders import (
    list_files,
    load_csv,
    load_text,
    make_loaded_resource,
    make_unpublished_version,
    render_messages,
)
from ..torture.cases import FILES
from .forms import CSV, FORM, make_file

pytestmark = pytest.mark.usefixtures("read_here")

LOADS = "/en/admin/datastore_search_files/load/"

#: Files of several formats, loadable or not, with each kind of notice, reason and offer.
PREVIEWED = (
    "amounts_mixed.csv", "open_quote.csv", "ragged.csv", "bomb.zip", "merged.xlsx", "nested.json",
)  # fmt: skip

CSV_WITH_BAD_ROW = "name,depth\nRed,3\nBlue\nLô,5\n"


def load_url(resource: Resource) -> str:
    return f"/en/admin/datastore_search/resource/{resource.pk}/load/"


def upload(client: Client, resource: Resource, text: str | bytes = CSV, **more: Any) -> Load:
    response = client.post(load_url(resource), {**FORM, "file": make_file(text), **more})
    assert response.status_code == 302, response.content.decode()
    load = resource.loads.latest("pk")
    assert response.headers["Location"] == f"{LOADS}{load.pk}/preview/"
    return load


def get_page(client: Client, load: Load, name: str = "preview/") -> str:
    response = client.get(f"{LOADS}{load.pk}/{name}")
    assert response.status_code == 200
    return str(response.content.decode())


def submit(client: Client, load: Load, **answers: Any) -> Load:
    """Submit the form of the preview, so that the draft is loaded."""
    client.post(f"{LOADS}{load.pk}/preview/", {"bad_rows": "refuse", "load": "1", **answers})
    load.refresh_from_db()
    return load


# Uploading ----------------------------------------------------------------------------------------


def test_an_upload_is_stored_as_a_draft_and_changes_nothing(
    staff: Client, resource: Resource, uploads: Path
) -> None:
    before = resource.table_version_id

    load = upload(staff, resource, "a,b\n1,2\n")

    resource.refresh_from_db()
    assert (resource.table_version_id, load.state) == (before, LoadState.DRAFT)
    assert [path.read_text() for path in list_files(uploads)] == ["a,b\n1,2\n"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"encoding": "klingon"}, "klingon is not one of the available choices"),
        ({"nulls": "-\nN\0A"}, "Null characters are not allowed."),
        ({"key": "\0"}, "Null characters are not allowed."),
        ({"skip": "-1"}, "greater than or equal to 0"),
        ({"mode": "shuffle"}, "shuffle is not one of the available choices"),
        *(
            ({"schema": make_file(text, "schema.json")}, "The Table Schema is not JSON.")
            for text in (
                "{",
                "[" * 100_000,
                '{"fields": [{"name": "a", "constraints": {"minimum": NaN}}]}',
                r'{"fields": [{"name": "\u0000"}]}',
                r'{"fields": [{"name": "\ud800"}]}',
            )
        ),
        ({"file": ""}, "Give a file, or the address of one."),
        ({"url": "https://data.example/a.csv"}, "not both"),
        (
            {"file": "", "url": "https://me:secret@data.example/a.csv"},
            "The address must not contain a user name or password.",
        ),
    ],
)
def test_a_form_that_means_nothing_is_refused(
    staff: Client, empty: Resource, answers: dict[str, Any], message: str
) -> None:
    page = staff.post(load_url(empty), {**FORM, "file": make_file(), **answers}).content.decode()

    assert message in page
    assert ("address of one" in message) == ("Give a file, or the address of one." in page)
    assert not Load.objects.exists()


def test_what_a_load_was_read_by_is_offered_for_the_next(staff: Client, empty: Resource) -> None:
    submit(staff, upload(staff, empty, "a;b\n1;2\n", delimiter=";", nulls="NA"))

    page = staff.get(load_url(empty)).content.decode()

    assert '<option value=";" selected>' in page
    assert ">NA</textarea>" in page.replace("\n", "")
    submit(staff, upload(staff, empty, "a,b\n1,2\n"), drop_missing_fields="on")
    empty.refresh_from_db()
    assert LoadOptions.from_json(empty.options).nulls == ()


# Preview ------------------------------------------------------------------------------------------


def test_the_preview_shows_fields_types_values_and_rows(staff: Client, empty: Resource) -> None:
    page = get_page(staff, upload(staff, empty, SURVEY))

    for cell in ("subject", "numeric", "watershed", "Mực nước sông Hồng", "2020-02-29"):
        assert cell in page
    assert "<dt>Rows</dt><dd>6</dd>" in page
    assert "<dt>Bad rows</dt><dd>0</dd>" in page


def test_a_type_is_chosen_and_stored_for_the_next_load(staff: Client, empty: Resource) -> None:
    load = submit(staff, upload(staff, empty), type_1="text")

    assert load.state == LoadState.READY
    amount = empty.fields.get(name="amount")
    assert (amount.type, amount.chosen_type) == ("text", "text")
    page = get_page(staff, upload(staff, empty))
    assert page.count('<option value="text" selected>') == 1


def test_the_preview_shows_what_does_not_fit_a_chosen_type(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty)

    staff.post(f"{LOADS}{load.pk}/preview/", {"bad_rows": "refuse", "type_0": "int4", "again": "1"})

    page = get_page(staff, load)
    assert "Rows that cannot be loaded" in page
    assert "The value is not of type whole number." in page
    assert '<option value="int4" selected>' in page


def test_the_preview_says_what_a_file_that_replaces_the_records_changes(
    staff: Client, empty: Resource
) -> None:
    submit(staff, upload(staff, empty, "a,b\n1,x\n2,y\n", key="a"))

    page = get_page(staff, upload(staff, empty, "a,b\n1,z\n3,y\n", key="a"))

    assert "Compared by “a” with the published records: added: 1; changed: 1; removed: 1." in page
    page = get_page(staff, upload(staff, empty, "a,b\n1,z\n", key="a", mode="upsert"))
    assert "Compared by" not in page


def test_dropping_fields_needs_a_confirmation(staff: Client, resource: Resource) -> None:
    load = upload(staff, resource, "title,x\na,1\n")
    page = get_page(staff, load)
    assert "Fields that the file lacks" in page
    assert "code" in page
    assert ">new</span>" in page

    load = submit(staff, load)
    assert load.state == LoadState.FAILED
    resource.refresh_from_db()
    assert resource.fields.count() == 6

    staff.post(f"{LOADS}{load.pk}/retry/", {"drop": "1"})
    assert sorted(resource.fields.values_list("name", flat=True)) == ["title", "x"]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"file": make_file(b"\n\n")}, "The file is empty."),
        ({"url": "http://127.0.0.1/a.csv"}, "cannot be reached on the public internet"),
    ],
    ids=["empty", "forbidden"],
)
def test_a_file_that_cannot_be_read_is_explained(
    staff: Client, empty: Resource, sent: dict[str, Any], reason: str
) -> None:
    staff.post(load_url(empty), FORM | sent)

    page = get_page(staff, empty.loads.get())

    assert "The file cannot be loaded" in page
    assert reason in page
    assert 'name="load"' not in page
    assert "More options" in page


def test_a_preview_that_breaks_is_reported_and_logged(
    staff: Client, empty: Resource, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(drafts, "build_preview", Mock(side_effect=ZeroDivisionError))

    page = get_page(staff, upload(staff, empty))

    assert "The load failed for an unexpected reason" in page
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(("text", "expected"), [("x\0y", "x�y"), (r"x\u0000y", r"x\u0000y")])
def test_the_character_that_no_database_stores_does_not_break_the_preview(
    staff: Client, empty: Resource, text: str, expected: str
) -> None:
    upload_file = make_file(json.dumps([{"a": text}]), "a.json")

    load = drafts.create_draft(empty, LoadOptions(), file=upload_file)

    assert expected in get_page(staff, load)


@pytest.mark.parametrize("name", [r"x\u0000", r"x\ud800"])
@pytest.mark.parametrize(
    "text",
    ['{"%s": [{"b": 1}]}', '{"%s": [{"b": 1}], "y": [{"b": 1}]}', '[{"%s": 1, "%s": 2}, {"b": 1}]'],
    ids=["one list", "two lists", "repeated member"],
)
def test_a_name_that_no_database_stores_is_said_by_the_preview_and_the_load(
    staff: Client, empty: Resource, name: str, text: str
) -> None:
    content = text.replace("%s", name)

    load = drafts.create_draft(empty, LoadOptions(), file=make_file(content, "a.json"))
    page = get_page(staff, load)

    assert "x�" in page
    with suppress(LoadFailed):
        load_text(empty, content, name="a.json")
    ended = empty.loads.exclude(pk=load.pk).get()
    assert ended.is_finished
    assert "x�" in f"{ended.error} {render_messages(ended.notices)}"


@pytest.mark.parametrize("name", PREVIEWED)
def test_a_trap_is_previewed(staff: Client, empty: Resource, name: str) -> None:
    content = (FILES / name).read_bytes()
    load = drafts.create_draft(empty, LoadOptions(), file=make_file(content, name))

    page = get_page(staff, load)

    assert "for an unexpected reason" not in page
    assert ('<h2 id="fields">' in page) != ("The file cannot be loaded" in page)


def test_a_cancelled_preview_leaves_nothing(
    staff: Client, resource: Resource, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    load = upload(staff, resource, "a\n1\n")

    with django_capture_on_commit_callbacks(execute=True):
        response = staff.post(f"{LOADS}{load.pk}/preview/", {"cancel": "1"}, follow=True)

    assert b"the upload is deleted" in response.content
    assert not Load.objects.filter(pk=load.pk).exists()
    assert list_files(uploads) == []


def test_the_options_and_the_file_of_a_draft_are_changed(
    staff: Client, empty: Resource, uploads: Path
) -> None:
    load = upload(staff, empty, "a;b\n1;2\n", delimiter=",")
    address = f"{LOADS}{load.pk}/options/"
    assert b"survey.csv" in staff.get(address).content

    response = staff.post(address, {**FORM, "delimiter": ";"})

    assert response.headers["Location"] == f"{LOADS}{load.pk}/preview/"
    assert "<dt>Fields</dt><dd>2</dd>" in get_page(staff, load)
    staff.post(address, {**FORM, "file": make_file("x\n9\n", "other.csv")})
    load.refresh_from_db()
    assert load.source == "other.csv"
    assert [path.read_text() for path in list_files(uploads)] == ["x\n9\n"]
    assert "<dt>Fields</dt><dd>1</dd>" in get_page(staff, load)


def test_a_table_schema_is_taken_and_forgotten(staff: Client, empty: Resource) -> None:
    schema = {"fields": [{"name": "amount", "type": "string", "title": "How much"}]}
    load = upload(staff, empty, schema=make_file(json.dumps(schema), "schema.json"))
    assert submit(staff, load).state == LoadState.READY
    amount = empty.fields.get(name="amount")
    assert (amount.type, amount.label) == ("text", "How much")

    load = upload(staff, empty, no_schema="on", force="on")

    assert LoadOptions.from_json(load.options).schema is None


def test_a_large_file_is_previewed_by_a_worker(
    staff: Client, empty: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Any] = []
    monkeypatch.setattr(drafts, "_MAX_BYTES_AT_ONCE", 10)
    monkeypatch.setattr(queue, "run_on_commit", waiting.append)
    before = timezone.now()
    load = upload(staff, empty)
    assert "is being read" in get_page(staff, load)
    assert not fetch_progress(staff, load)["finished"]

    waiting.pop()()

    assert fetch_progress(staff, load)["finished"]
    assert "watershed" in get_page(staff, load)
    load.refresh_from_db()
    assert load.queued_at is not None
    assert load.heartbeat_at is not None
    assert before < load.queued_at < load.heartbeat_at
    previewed_at = load.heartbeat_at
    load = submit(staff, load)
    assert load.queued_at is not None
    assert load.queued_at > previewed_at


def test_a_missing_preview_can_be_requested_again(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty)
    types = LoadOptions(types={"amount": "text"}).to_json()
    Load.objects.filter(pk=load.pk).update(preview=None, options=types)
    assert "is being read" in get_page(staff, load)

    assert submit(staff, load).state == LoadState.DRAFT  # it has no preview yet
    staff.post(f"{LOADS}{load.pk}/preview/", {"again": "1"})

    assert '<option value="text" selected>' in get_page(staff, load)


def test_only_what_was_seen_is_loaded(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty)
    (seen,) = re.findall(r'name="seen" value="(\w+)"', get_page(staff, load))
    staff.post(f"{LOADS}{load.pk}/options/", {**FORM, "file": make_file("x\n9\n", "other.csv")})

    assert submit(staff, load, seen=seen).state == LoadState.DRAFT
    page = get_page(staff, load)

    assert "The draft has changed. Check it again." in page
    (seen,) = re.findall(r'name="seen" value="(\w+)"', page)
    assert submit(staff, load, seen=seen).state == LoadState.READY


def test_a_preview_is_dropped_if_the_draft_has_changed_meanwhile(
    staff: Client, empty: Resource
) -> None:
    load = upload(staff, empty)
    seen = Load.objects.get(pk=load.pk)
    Load.objects.filter(pk=load.pk).update(options={"delimiter": ";"}, preview=None)

    drafts.preview_draft(seen)

    assert Load.objects.get(pk=load.pk).preview is None


def test_an_address_is_fetched_once_and_loaded_as_it_was_seen(
    staff: Client, empty: Resource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched = tmp_path / "fetched.csv"
    fetched.write_text("a\n1\n")
    served = [copy_source(fetched, tmp_path)]
    monkeypatch.setattr(
        drafts,
        "copy_source",
        lambda what, folder: served.pop() if isinstance(what, str) else copy_source(what, folder),
    )
    response = staff.post(load_url(empty), {**FORM, "url": "https://data.example/a.csv"})
    assert response.status_code == 302

    load = empty.loads.get()
    assert "https://data.example/a.csv" in get_page(staff, load)
    fetched.write_text("b\nx\ny\n")
    assert submit(staff, load).record_count == 1


# Progress -----------------------------------------------------------------------------------------


def fetch_progress(client: Client, *loads: Load) -> dict[str, Any]:
    query = "&".join(f"load={load.pk}" for load in loads)
    response = client.get(f"{LOADS}progress/?{query}")
    assert "no-store" in response.headers["Cache-Control"]
    progress: dict[str, Any] = response.json()["loads"][str(loads[0].pk)]
    return progress


MakeRunningLoad = Callable[..., Load]


@pytest.fixture
def make_running_load(db: None) -> Iterator[MakeRunningLoad]:
    """Return a function that makes loads with a job lock, like those of a running job."""
    with ExitStack() as locks:

        def make_load(resource: Resource, **values: Any) -> Load:
            values = {
                "state": LoadState.COPYING,
                "rows_written": 250_000,
                "rows_total": 1_000_000,
                **values,
            }
            load = Load.objects.create(
                resource=resource, source="large.csv", progress=0.3, **values
            )
            locks.enter_context(hold_job_lock(connection, load.pk))
            return load

        yield make_load


@pytest.mark.parametrize(
    "page", ["datastore_search_files_load_changelist", "datastore_search_resource_changelist"]
)
def test_a_list_shows_a_load_whose_process_is_gone_as_failed(
    staff: Client, empty: Resource, page: str
) -> None:
    load = Load.objects.create(resource=empty, source="x.csv", state=LoadState.COPYING)
    version = make_unpublished_version(load)

    page_text = staff.get(reverse(f"admin:{page}")).content.decode()

    load.refresh_from_db()
    assert load.state == LoadState.FAILED
    assert "interrupted" in load.error
    assert "datastore-badge-bad" in page_text
    assert version.pk not in list_record_tables(connection)


def test_a_queued_load_says_what_it_waits_for(
    staff: Client, empty: Resource, make_running_load: MakeRunningLoad
) -> None:
    started = make_running_load(empty, state=LoadState.QUEUED, started_at=timezone.now())
    assert fetch_progress(staff, started)["text"] == "waits for another load of the resource"
    load = make_queued_load(empty, timedelta(seconds=1))
    assert fetch_progress(staff, load)["text"] == "waits for a worker"

    make_running_load(empty)

    expected = "waits for a worker: 1 other load is running"
    assert fetch_progress(staff, load)["text"] == expected


def test_a_running_load_shows_how_far_it_is(
    staff: Client, empty: Resource, make_running_load: MakeRunningLoad
) -> None:
    load = make_running_load(empty)

    progress = fetch_progress(staff, load)

    assert progress["percentage"] == 30
    assert progress["text"].startswith("250,000 of 1,000,000 records · 30%")
    assert (progress["state"], progress["finished"]) == ("copying", False)
    page = get_page(staff, load, "change/")
    for part in ('max="100" value="30"', 'aria-current="step">copying', "Cancel the load"):
        assert part in page
    resources = "/en/admin/datastore_search/resource/"
    for address in (LOADS, resources, f"{resources}{empty.pk}/change/"):
        assert f'data-datastore-load="{load.pk}"' in staff.get(address).content.decode()


def make_queued_load(resource: Resource, ago: timedelta, **values: Any) -> Load:
    return Load.objects.create(
        resource=resource,
        source="a.csv",
        queued_at=timezone.now() - ago,
        **{"state": LoadState.QUEUED, **values},
    )


@pytest.mark.parametrize(
    ("backend", "hint"),
    [
        (("django_tasks_db.DatabaseBackend", {}), "Start one: manage.py db_worker"),
        (
            ("django_tasks_db.DatabaseBackend", {"BACKEND": "slow", "QUEUE": "loads"}),
            "Start one: manage.py db_worker --queue-name loads --backend slow",
        ),
        (("portal.tasks.Own", {}), "Start one for the backend “default”."),
    ],
)
def test_a_load_that_no_worker_takes_says_how_to_start_one(
    staff: Client, empty: Resource, settings: Any, backend: tuple[str, dict[str, str]], hint: str
) -> None:
    path, names = backend
    load = make_queued_load(empty, timedelta(minutes=2))
    draft = make_queued_load(empty, timedelta(minutes=2), state=LoadState.DRAFT)
    settings.TASKS = {names.get("BACKEND", "default"): {"BACKEND": path}}
    for name, value in names.items():
        setattr(settings, f"DATASTORE_SEARCH_TASKS_{name}", value)
    message = f"No worker has taken this for 2 minutes: none is running, or all are busy. {hint}"

    assert fetch_progress(staff, load)["text"] == message
    assert fetch_progress(staff, draft)["text"] == message
    assert f"<p data-datastore-text>{message}</p>" in get_page(staff, load, "change/")
    assert message in get_page(staff, draft)
    assert "waits for a worker" in staff.get(LOADS).content.decode()


@pytest.mark.parametrize(
    ("ago", "values"),
    [
        (timedelta(seconds=20), {}),
        (timedelta(seconds=20), {"state": LoadState.DRAFT}),
        (timedelta(hours=1), {"started_at": timezone.now()}),
        (timedelta(hours=1), {"state": LoadState.DRAFT, "heartbeat_at": timezone.now()}),
        (timedelta(hours=1), {"state": LoadState.DRAFT, "preview": {}}),
        (timedelta(hours=1), {"state": LoadState.READY}),
        (timedelta(hours=1), {"cancel_requested_at": timezone.now()}),
    ],
    ids=["new", "new draft", "taken", "looked at", "seen", "ready", "cancelling"],
)
def test_what_is_new_or_taken_waits_for_no_worker(
    empty: Resource, ago: timedelta, values: dict[str, Any]
) -> None:
    assert not get_queue_notice(make_queued_load(empty, ago, **values))


def test_a_load_is_cancelled(
    staff: Client, empty: Resource, make_running_load: MakeRunningLoad
) -> None:
    load = make_running_load(empty, state=LoadState.QUEUED)

    response = staff.post(f"{LOADS}{load.pk}/cancel/", follow=True)

    load.refresh_from_db()
    assert load.state == LoadState.CANCELLED
    assert b"The load was cancelled; the records have not changed." in response.content


@pytest.mark.parametrize("what", ["cancel", "retry"])
def test_only_a_post_changes_a_load(
    staff: Client, empty: Resource, what: str, make_running_load: MakeRunningLoad
) -> None:
    load = make_running_load(empty)

    assert staff.get(f"{LOADS}{load.pk}/{what}/").status_code == 405
    assert Client(enforce_csrf_checks=True).post(f"{LOADS}{load.pk}/{what}/").status_code == 403


# Report -------------------------------------------------------------------------------------------


def upload_bad_file(client: Client, resource: Resource) -> Load:
    load = submit(client, upload(client, resource, CSV_WITH_BAD_ROW))
    assert load.state == LoadState.FAILED
    return load


def test_a_bad_file_is_reported_and_is_loaded_without_the_bad_rows(
    staff: Client, resource: Resource
) -> None:
    before = resource.table_version_id
    load = submit(staff, upload(staff, resource, CSV_WITH_BAD_ROW), drop_missing_fields="on")

    page = get_page(staff, load, "change/")

    resource.refresh_from_db()
    assert resource.table_version_id == before
    for part in (
        "The file was not loaded; the records have not changed.",
        "The header has 2 cells; the row has 1.",
        "Leave the bad rows out and load the rest",
        "The first: Line 3: The header has 2 cells; the row has 1.",
        '<td colspan="2" class="datastore-quiet">the whole row</td>',
        "Download the list as CSV",
    ):
        assert part in page
    translated = staff.get(f"/vi{LOADS[3:]}{load.pk}/change/").content.decode()
    assert "Số hàng không thể nạp: 1." in translated
    assert "Hàng có 1 ô; hàng tiêu đề có 2 ô." in translated
    assert "cannot be loaded" not in translated

    response = staff.post(f"{LOADS}{load.pk}/retry/", {"skip": "1"}, follow=True)

    page = response.content.decode()
    assert "2 records were loaded." in page
    assert "Rows that could not be loaded and were left out: 1." in page


def test_the_report_of_a_load_names_types_in_words(staff: Client, empty: Resource) -> None:
    draft = upload(staff, empty, 'n,day,price\n1,2024-02-29,"1,234"\nmany,2024-03-01,"5,678"\n')
    load = submit(staff, draft, type_0="int4", type_1="timestamptz")

    page = get_page(staff, load, "change/")
    report = b"".join(staff.get(f"{LOADS}{load.pk}/bad-rows.csv")).decode()

    for text in (page, report):
        assert "The value is not of type whole number." in text
        assert not re.search("int4|timestamptz|numeric", text)
    assert "Choose whole number · 1,234 or number · 1.234,50." in page


def test_many_bad_rows_are_paged(staff: Client, empty: Resource) -> None:
    load = upload_bad_file(staff, empty)
    stored_message = {"code": "row.empty_key", "parameters": {}}
    RowError.objects.bulk_create(
        RowError(load=load, line=line, message=stored_message) for line in range(10, 260)
    )

    page = get_page(staff, load, "change/?page=3")

    assert "Page 3 of 3" in page
    assert page.count("A field of the key is empty.") == 51
    assert "Page 1 of 3" in get_page(staff, load, "change/?page=nonsense")


def test_a_failed_load_is_tried_again_once_with_other_options(
    staff: Client, empty: Resource
) -> None:
    load = upload_bad_file(staff, empty)

    response = staff.post(f"{LOADS}{load.pk}/options/")

    draft = empty.loads.get(state=LoadState.DRAFT)
    assert response.headers["Location"] == f"{LOADS}{draft.pk}/options/"
    assert draft.source == "survey.csv"
    staff.post(f"{LOADS}{draft.pk}/options/", {**FORM, "bad_rows": "skip"})
    assert submit(staff, draft, bad_rows="skip").state == LoadState.READY
    for what in ("options/", "retry/"):  # its file belongs to the other load now
        response = staff.post(f"{LOADS}{load.pk}/{what}", follow=True)
        assert response.context["messages"]
    assert empty.loads.count() == 2
    assert "Try again" not in get_page(staff, load, "change/")


CHECKED = re.compile(r'name="bad_rows" value="(\w+)"[^>]* checked')


def test_a_preview_with_bad_rows_asks_what_becomes_of_them(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty, CSV_WITH_BAD_ROW)
    assert CHECKED.findall(get_page(staff, load)) == []

    refused = staff.post(f"{LOADS}{load.pk}/preview/", {"load": "1"}).content.decode()
    assert "Choose what to do with these rows." in refused
    load.refresh_from_db()
    assert load.state == LoadState.DRAFT

    staff.post(f"{LOADS}{load.pk}/preview/", {"again": "1"})  # needs no choice
    assert CHECKED.findall(get_page(staff, load)) == []
    assert submit(staff, load, bad_rows="skip").record_count == 2


def test_a_type_is_corrected_back_and_loaded_without_another_preview(
    staff: Client, empty: Resource
) -> None:
    load = upload(staff, empty, CSV_WITH_BAD_ROW.replace("Blue", "Blue,x"))
    chosen = {"type_0": "", "type_1": "int4"}
    staff.post(f"{LOADS}{load.pk}/preview/", {**chosen, "again": "1"})
    assert "Rows that cannot be loaded" in get_page(staff, load)
    refused = staff.post(f"{LOADS}{load.pk}/preview/", {**chosen, "load": "1"}).content.decode()
    assert "Choose what to do with these rows." in refused

    staff.post(f"{LOADS}{load.pk}/preview/", {"type_0": "", "type_1": "", "load": "1"})

    load.refresh_from_db()
    assert (load.state, load.record_count) == (LoadState.READY, 3)
    depth = empty.fields.get(name="depth")
    assert (depth.type, depth.chosen_type) == ("text", "")


def test_a_submitted_draft_is_not_submitted_twice(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty)
    stale = Load.objects.get(pk=load.pk)
    submit(staff, load)

    with pytest.raises(LoadFailed):
        drafts.submit_draft(stale, LoadOptions())

    assert empty.loads.count() == 1


# Who may do what ----------------------------------------------------------------------------------


def test_users_with_view_permission_see_loads_and_change_nothing(
    client: Client, resource: Resource, make_running_load: MakeRunningLoad
) -> None:
    client.force_login(make_user("viewer", is_staff=True, permissions=("view_resource",)))
    load = make_running_load(
        resource, state=LoadState.FAILED, failure=LoadFailed("file.empty").to_json()
    )
    draft = make_running_load(resource, state=LoadState.DRAFT)

    assert client.get(LOADS).status_code == 200
    assert fetch_progress(client, load)["finished"]
    assert client.get(f"{LOADS}{load.pk}/bad-rows.csv").status_code == 200
    page = get_page(client, load, "change/")
    assert "The file is empty." in page
    assert "Try again" not in page
    assert client.get(load_url(resource)).status_code == 403
    assert client.post(load_url(resource), {**FORM, "file": make_file()}).status_code == 403
    for what in ("cancel", "retry", "options", "preview"):
        assert client.post(f"{LOADS}{draft.pk}/{what}/").status_code == 403
    assert resource.loads.count() == 3


def test_loads_cannot_be_added_changed_or_deleted_by_hand(
    staff: Client, resource: Resource
) -> None:
    load = resource.loads.get()

    assert staff.get(f"{LOADS}add/").status_code == 403
    assert staff.post(f"{LOADS}{load.pk}/delete/", {"post": "yes"}).status_code == 403
    assert staff.post(f"{LOADS}{load.pk}/change/", {"source": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("name", "option", "chosen"),
    [
        ("two_lists.json", "records_path", "schools"),
        ("towns.csv", "encoding", "Windows-1252"),
        ("layers.gpkg", "sheet", "rivers"),
        ("two_files.zip", "member", "b/towns.csv"),
    ],
)
def test_what_the_file_shows_is_chosen_with_one_click(
    staff: Client, empty: Resource, name: str, option: str, chosen: str
) -> None:
    is_kept = name != "towns.csv"
    content = (FILES / name).read_bytes() if is_kept else "town\nGenève\n".encode("cp1252")
    load = drafts.create_draft(empty, LoadOptions(), file=make_file(content, name))
    assert f'name="{option}" value="{chosen}" class="button"' in get_page(staff, load)

    staff.post(f"{LOADS}{load.pk}/preview/", {option: "Z1:Z9"})  # which was not offered
    load.refresh_from_db()
    assert option not in load.options
    staff.post(f"{LOADS}{load.pk}/preview/", {option: chosen})

    load.refresh_from_db()
    assert str(load.options[option]) == chosen
    assert load.preview
    assert "failure" not in load.preview


def test_notes_below_a_table_are_left_out_with_one_click(staff: Client, empty: Resource) -> None:
    load = upload(staff, empty, "year,n,m\n2024,1,2\n2025,3,4\n\nSource: the ministry\n")

    page = get_page(staff, load)
    assert 'name="footer" value="skip"' in page
    # Enter in an input presses the first button.
    form = page[page.index('name="seen"') :]
    assert form[form.index("<button") :].startswith('<button type="submit" name="load"')

    staff.post(f"{LOADS}{load.pk}/preview/", {"footer": "skip", "type_0": "text"})
    assert 'name="footer"' not in get_page(staff, load)
    load = submit(staff, load, type_0="text")
    empty.refresh_from_db()
    assert (load.record_count, empty.options) == (2, {"footer": "skip"})
    assert load.options["types"] == {"year": "text"}


# Controls of the direction of text ----------------------------------------------------------------


def test_controls_of_direction_are_visible_in_the_admin(staff: Client, db: None) -> None:
    override = "\u202e"
    resource = make_loaded_resource(
        f"na{override}me,n\nva{override}lue,1\n", title=f"tit{override}le", name="hostile"
    )
    Field.objects.filter(resource=resource).update(
        label=f"lab{override}el", notes=f"no{override}tes"
    )
    Load.objects.filter(resource=resource).update(source=f"fi{override}le.csv")
    text = f"other{override}name,n\nva{override}lue,x{override}y\n"
    options = LoadOptions(types={"n": "int4"})
    draft = drafts.create_draft(resource, options, file=make_file(text, f"fi{override}le.csv"))
    load = Load.objects.filter(resource=resource).exclude(pk=draft.pk).get()
    page = f"/en/admin/datastore_search/resource/{resource.pk}"

    for address in (
        "/en/admin/datastore_search/resource/",
        f"{page}/change/",
        f"{page}/load/",
        f"{page}/texts/vi/",
        f"{page}/history/",
        f"{page}/delete/",
        LOADS,
        f"{LOADS}{load.pk}/change/",
        f"{LOADS}{draft.pk}/preview/",
        f"{LOADS}{draft.pk}/options/",
    ):
        response = staff.get(address)
        assert response.status_code == 200, address
        # What an input holds is sent back as it is.
        shown = re.sub(
            r"<textarea.*?</textarea>| (?:value|href)=\"[^\"]*\"",
            "",
            response.content.decode(),
            flags=re.DOTALL,
        )
        assert "‹U+202E›" in shown, address
        assert override not in shown, (address, shown[max(0, shown.find(override) - 200) :][:300])


# The page of a resource ---------------------------------------------------------------------------


def test_fields_that_a_load_takes_away_meanwhile_do_not_break_the_page(staff: Client) -> None:
    resource = make_loaded_resource()
    form = build_form(**build_inlines(resource, title="The title"))
    load_csv(resource, "title,x\na,1\n")

    response = staff.post(f"{LIST}{resource.pk}/change/", form)

    assert response.status_code in {200, 302}
    assert resource.fields.count() == 2

"""Validators: who has an answer already is told so, and nobody keeps what has changed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from django.test import Client
from django.utils.http import http_date

from datastore_search import http_caching
from datastore_search.models import Alias, Field, Resource
from datastore_search.writing import Method, open_writer

from ..builders import act, load_csv, make_resource, make_slow, make_token, make_user

SEARCH = "/en/api/3/action/datastore_search?resource_id={id}"
INFO = "/en/api/3/action/datastore_info?resource_id={id}"
DUMP = "/en/datastore/dump/{id}"
PAGE = "/en/datastore/{id}/"

ADDRESSES = (SEARCH, INFO, DUMP, PAGE)
each_address = pytest.mark.parametrize("address", ADDRESSES)


@pytest.fixture(autouse=True)
def _pages_have_a_version(settings: Any) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every change count as old."""
    monkeypatch.setattr(http_caching, "_MIN_AGE", timedelta(days=-1))


def get(client: Client, address: str, resource: Resource, **headers: str) -> Any:
    """Ask, and read all of the answer."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    response: Any = client.get(address.format(id=resource.pk), headers=headers)
    response.body = response.getvalue()
    return response


def etag_of(client: Client, address: str, resource: Resource, **headers: str) -> str:
    response = get(client, address, resource, **headers)
    assert response.status_code == 200
    etag: str = response["ETag"]
    return etag


# The same -----------------------------------------------------------------------------------------


@each_address
def test_what_is_unchanged_is_told_with_the_same_headers_and_no_body(
    client: Client, resource: Resource, settled: None, address: str
) -> None:
    first = get(client, address, resource)

    for known in (first["ETag"], f'"other", {first["ETag"]}', first["ETag"][2:], "*"):
        again = get(client, address, resource, If_None_Match=known)
        assert (again.status_code, again.body) == (304, b"")
        for name in ("ETag", "Cache-Control", "Vary", "Last-Modified", "Content-Language"):
            assert again[name] == first[name]


@each_address
def test_head_says_what_get_says(
    client: Client, resource: Resource, settled: None, address: str
) -> None:
    path = address.format(id=resource.pk)
    by_get, by_head = get(client, address, resource), client.head(path)

    for name in ("ETag", "Cache-Control", "Vary", "Last-Modified"):
        assert by_head[name] == by_get[name]
    unchanged = client.head(path, headers={"If-None-Match": by_get["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


@pytest.mark.parametrize("address", [SEARCH, f"{SEARCH}&limit=32000", DUMP, PAGE])
def test_what_is_unchanged_is_told_without_a_look_at_the_records(
    client: Client, resource: Resource, settings: Any, address: str
) -> None:
    etag = etag_of(client, address, resource)
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(milliseconds=50)

    assert get(client, address, resource, If_None_Match=etag).status_code == 304
    if address != PAGE:
        assert get(client, address, resource).status_code == 409


@each_address
def test_the_same_request_has_the_same_etag(
    client: Client, resource: Resource, address: str
) -> None:
    assert etag_of(client, address, resource) == etag_of(Client(), address, resource)


# Different ----------------------------------------------------------------------------------------


def write(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "007"}], Method.INSERT)


def update_without_effect_on_the_total(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"_id": 1, "code": "007"}], Method.UPDATE)


def label(resource: Resource) -> None:
    Field.objects.filter(resource=resource, name="code").update(label="Code")


def add_alias(resource: Resource) -> None:
    Alias.objects.create(resource=resource, name="rivers")


def lose_alias(resource: Resource) -> None:
    Alias.objects.filter(resource=resource).delete()


def move_alias(resource: Resource) -> None:
    Alias.objects.filter(resource=resource).update(resource=make_resource())


def rename(resource: Resource) -> None:
    Resource.objects.filter(pk=resource.pk).update(title="Another title")


def reload(resource: Resource) -> None:
    load_csv(resource, "a\n1\n")


@each_address
@pytest.mark.parametrize(
    "change",
    [write, update_without_effect_on_the_total, label, add_alias, lose_alias, move_alias,
     rename, reload],
)  # fmt: skip
def test_every_change_changes_the_etag(
    client: Client, resource: Resource, address: str, change: Callable[[Resource], None]
) -> None:
    Alias.objects.create(resource=resource, name="old")
    etag = etag_of(client, address, resource)

    change(resource)

    response = get(client, address, resource, If_None_Match=etag)
    assert response.status_code == 200
    assert response["ETag"] != etag


OTHERS = [
    SEARCH,
    SEARCH.replace("/en/", "/en_GB/"),
    SEARCH.replace("/en/", "/vi/"),
    SEARCH.replace("/api/3/", "/api/"),
    SEARCH + "&limit=5",
    SEARCH + "&limit=6",
    SEARCH + "&limit=5&offset=1",
    SEARCH + "&q=river",
    SEARCH + "&records_format=csv",
    SEARCH + "&limit=32000",
    SEARCH + "&filters={{%22code%22:1}}",
    SEARCH + "&filters={{%22code%22:%221%22}}",
    INFO,
    INFO + "&include_meta=false",
    DUMP,
    DUMP + "?format=json",
    DUMP + "?bom=true",
    PAGE,
    PAGE + "?q=river",
]


def test_every_request_has_an_etag_of_its_own(client: Client, resource: Resource) -> None:
    etags = {address: etag_of(client, address, resource) for address in OTHERS}
    etags["host"] = etag_of(client, SEARCH, resource, Host="127.0.0.1")
    etags["body"] = client.generic(
        "GET", SEARCH.partition("?")[0], json.dumps({"resource_id": str(resource.pk)}),
        "application/json",
    )["ETag"]  # fmt: skip

    assert len(set(etags.values())) == len(OTHERS) + 2


def test_a_portal_s_own_limit_and_version_count(
    client: Client, resource: Resource, settings: Any
) -> None:
    search, page = etag_of(client, SEARCH, resource), etag_of(client, PAGE, resource)
    settings.DATASTORE_SEARCH_DEFAULT_LIMIT = 2
    settings.DATASTORE_SEARCH_PAGES_VERSION = "2"

    assert etag_of(client, SEARCH, resource) != search
    assert etag_of(client, PAGE, resource) != page


# Who has none -------------------------------------------------------------------------------------


def test_an_answer_to_a_post_has_none(client: Client, resource: Resource) -> None:
    etag = etag_of(client, SEARCH, resource)
    response = client.post(
        SEARCH.partition("?")[0],
        {"resource_id": str(resource.pk)},
        content_type="application/json",
        headers={"If-None-Match": etag},
    )

    assert response.status_code == 200
    assert not {"ETag", "Last-Modified"} & set(response.headers)


def test_a_page_has_none_without_a_version_or_for_who_is_signed_in(
    client: Client, resource: Resource, settings: Any
) -> None:
    etag = etag_of(client, PAGE, resource)
    client.force_login(make_user())
    assert "ETag" not in get(client, PAGE, resource, If_None_Match=etag)

    settings.DATASTORE_SEARCH_PAGES_VERSION = ""
    response = get(Client(), PAGE, resource, If_None_Match=etag)
    assert response.status_code == 200
    assert "ETag" not in response


@pytest.mark.parametrize("address", [SEARCH + "&limit=x", SEARCH + "0", DUMP + "0"])
def test_a_failure_has_none(client: Client, resource: Resource, address: str) -> None:
    response = get(client, address, resource, If_None_Match="*")

    assert response.status_code in {404, 409}
    assert "ETag" not in response


@pytest.mark.parametrize("header", ["If-Match", "If-Unmodified-Since"])
@each_address
def test_conditions_of_writers_do_not_count(
    client: Client, resource: Resource, settled: None, address: str, header: str
) -> None:
    response = client.get(
        address.format(id=resource.pk),
        headers={header: '"x"' if header == "If-Match" else http_date(0)},
    )

    assert response.status_code == 200


# Time ---------------------------------------------------------------------------------------------


@each_address
def test_the_time_of_the_last_change_alone_will_do(
    client: Client, resource: Resource, settled: None, address: str
) -> None:
    first = get(client, address, resource)
    modified = parsedate_to_datetime(first["Last-Modified"])
    resource.refresh_from_db()
    assert modified == resource.modified_at.replace(microsecond=0)

    for seconds, status in ((-1, 200), (0, 304), (60, 304)):
        since = http_date((modified + timedelta(seconds=seconds)).timestamp())
        response = get(client, address, resource, If_Modified_Since=since)
        assert response.status_code == status
    both = get(
        client, address, resource, If_Modified_Since=http_date(2**33), If_None_Match='"other"'
    )
    assert both.status_code == 200  # the time counts only where no ETag is given


def test_no_time_is_told_while_more_may_change_within_the_same_second(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timedelta(seconds=1) < http_caching._MIN_AGE
    monkeypatch.setattr(http_caching, "_MIN_AGE", timedelta(days=1))

    response = get(client, SEARCH, resource)

    assert "ETag" in response
    assert "Last-Modified" not in response
    since = get(client, SEARCH, resource, If_Modified_Since=http_date(2**33))
    assert since.status_code == 200


# Who may keep it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [SEARCH, INFO, DUMP])
def test_a_private_answer_is_for_its_reader_alone(client: Client, db: None, address: str) -> None:
    resource = make_resource(private=True)
    token = make_token()

    first = get(client, address, resource, Authorization=token)
    again = get(client, address, resource, Authorization=token, If_None_Match=first["ETag"])

    assert again.status_code == 304
    for response in (first, again):
        assert response["Cache-Control"] == "max-age=0, must-revalidate, private"
        assert "Authorization" in response["Vary"]
    assert get(client, address, resource, If_None_Match=first["ETag"]).status_code == 403


@each_address
def test_a_public_answer_is_kept_by_all_who_ask_again(
    client: Client, resource: Resource, address: str
) -> None:
    response = get(client, address, resource)

    assert response["Cache-Control"] == "max-age=0, must-revalidate, public"


def test_a_written_answer_is_never_kept(client: Client, resource: Resource) -> None:
    token = make_token(make_user("writer", permissions=("change_resource", "view_resource")))
    sent = {"resource_id": str(resource.pk), "force": True, "records": [{"code": "1"}]}

    response = act(client, "datastore_upsert", {**sent, "method": "insert"}, token)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert "ETag" not in response


# Compressed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [SEARCH, SEARCH + "&limit=32000", INFO, DUMP, PAGE])
def test_a_compressed_answer_is_the_same_and_has_the_same_etag(
    client: Client, settings: Any, db: None, address: str
) -> None:
    resource = make_resource("n,text\n" + "".join(f"{n},{'x' * 600}\n" for n in range(2_000)))
    plain = get(client, address, resource)
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]

    packed = get(Client(), address, resource, Accept_Encoding="gzip")

    assert packed["Content-Encoding"] == "gzip"
    assert packed["ETag"] == plain["ETag"]
    assert packed.streaming == plain.streaming
    if address != PAGE:  # GZipMiddleware hides the length of a page's secrets
        assert gzip.decompress(packed.body) == plain.body
    again = get(Client(), address, resource, Accept_Encoding="gzip", If_None_Match=packed["ETag"])
    assert (again.status_code, again.body) == (304, b"")

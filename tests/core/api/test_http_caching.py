"""HTTP validators: an unchanged answer is 304, and caches store no stale one."""

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

from datastore_search.models import Alias, Resource
from datastore_search.web import caching as http_caching
from datastore_search.writing import Method, open_writer

from ...builders import act, fill_table, make_resource, make_slow, make_token, make_user
from ..search.test_consistency import delete_alias, insert_record, label_field, move_alias

SEARCH = "/en/api/3/action/datastore_search?resource_id={id}"
INFO = "/en/api/3/action/datastore_info?resource_id={id}"
FACETS = "/en/api/3/action/datastore_facets?resource_id={id}&facets=code"
AGGREGATE = "/en/api/3/action/datastore_aggregate?resource_id={id}&group_by=code"
DUMP = "/en/datastore/dump/{id}"
PAGE = "/en/datastore/{id}/"

ADDRESSES = (SEARCH, INFO, FACETS, AGGREGATE, DUMP, PAGE)
each_address = pytest.mark.parametrize("address", ADDRESSES)


@pytest.fixture(autouse=True)
def _pages_have_a_version(settings: Any) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as old."""
    monkeypatch.setattr(http_caching, "_MIN_AGE", timedelta(days=-1))


def fetch(client: Client, address: str, resource: Resource, **headers: str) -> Any:
    """Send a request, and read the whole answer."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    response: Any = client.get(address.format(id=resource.pk), headers=headers)
    response.body = response.getvalue()
    return response


def fetch_etag(client: Client, address: str, resource: Resource, **headers: str) -> str:
    response = fetch(client, address, resource, **headers)
    assert response.status_code == 200
    etag: str = response["ETag"]
    return etag


# The same -----------------------------------------------------------------------------------------


@each_address
def test_an_unchanged_answer_is_304_with_the_same_headers_and_no_body(
    client: Client, resource: Resource, settled: None, address: str
) -> None:
    first = fetch(client, address, resource)

    for known in (first["ETag"], f'"other", {first["ETag"]}', first["ETag"][2:], "*"):
        again = fetch(client, address, resource, If_None_Match=known)
        assert (again.status_code, again.body) == (304, b"")
        for name in ("ETag", "Cache-Control", "Vary", "Last-Modified", "Content-Language"):
            assert again[name] == first[name]


@pytest.mark.parametrize(
    "address",
    [SEARCH, f"{SEARCH}&limit=32000", f"{FACETS}&q=river", AGGREGATE,
     f"{AGGREGATE}&records_format=csv", DUMP, PAGE],
)  # fmt: skip
def test_an_unchanged_answer_is_304_without_a_read_of_the_records(
    client: Client, resource: Resource, settings: Any, address: str
) -> None:
    etag = fetch_etag(client, address, resource)
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(milliseconds=50)

    assert fetch(client, address, resource, If_None_Match=etag).status_code == 304
    if address != PAGE:
        assert fetch(client, address, resource).status_code == 409


# Different ----------------------------------------------------------------------------------------


def update_without_effect_on_the_total(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"_id": 1, "code": "007"}], Method.UPDATE)


def add_alias(resource: Resource) -> None:
    Alias.objects.create(resource=resource, name="rivers")


def change_title(resource: Resource) -> None:
    Resource.objects.filter(pk=resource.pk).update(title="Another title")


def replace_records(resource: Resource) -> None:
    fill_table(resource, "code\n1\n")


CHANGES = (
    insert_record, update_without_effect_on_the_total, label_field, add_alias, delete_alias,
    move_alias, change_title, replace_records,
)  # fmt: skip


@pytest.mark.parametrize(
    ("address", "change"),
    [
        *((SEARCH, change) for change in CHANGES),
        *((address, insert_record) for address in ADDRESSES[1:]),
        (INFO, add_alias),
        (PAGE, change_title),
    ],
)
def test_every_change_changes_the_etag(
    client: Client, resource: Resource, address: str, change: Callable[[Resource], None]
) -> None:
    Alias.objects.create(resource=resource, name="old")
    etag = fetch_etag(client, address, resource)

    change(resource)

    response = fetch(client, address, resource, If_None_Match=etag)
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
    FACETS,
    FACETS + ",stage",
    FACETS + "&limit=5",
    FACETS + "&q=river",
    AGGREGATE,
    AGGREGATE + "&limit=5",
    AGGREGATE + "&metrics=count",
    AGGREGATE + "&records_format=csv",
    DUMP,
    DUMP + "?format=json",
    DUMP + "?bom=true",
    PAGE,
    PAGE + "?q=river",
]


@pytest.mark.needs("analysis")
def test_every_request_has_its_own_etag(client: Client, resource: Resource) -> None:
    etags = {address: fetch_etag(client, address, resource) for address in OTHERS}
    etags["host"] = fetch_etag(client, SEARCH, resource, Host="127.0.0.1")
    etags["body"] = client.generic(
        "GET", SEARCH.partition("?")[0], json.dumps({"resource_id": str(resource.pk)}),
        "application/json",
    )["ETag"]  # fmt: skip

    assert len(set(etags.values())) == len(OTHERS) + 2


@pytest.mark.needs("pages")
def test_a_portal_s_own_limit_and_version_count(
    client: Client, resource: Resource, settings: Any
) -> None:
    search, page = fetch_etag(client, SEARCH, resource), fetch_etag(client, PAGE, resource)
    settings.DATASTORE_SEARCH_MAX_LIMIT = 2
    settings.DATASTORE_SEARCH_PAGES_VERSION = "2"

    assert fetch_etag(client, SEARCH, resource) != search
    assert fetch_etag(client, PAGE, resource) != page


# Who has none -------------------------------------------------------------------------------------


def test_an_answer_to_a_post_has_none(client: Client, resource: Resource) -> None:
    etag = fetch_etag(client, SEARCH, resource)
    response = client.post(
        SEARCH.partition("?")[0],
        {"resource_id": str(resource.pk)},
        content_type="application/json",
        headers={"If-None-Match": etag},
    )

    assert response.status_code == 200
    assert not {"ETag", "Last-Modified"} & set(response.headers)


@pytest.mark.needs("pages")
def test_a_page_has_none_without_a_version_or_for_a_signed_in_user(
    client: Client, resource: Resource, settings: Any
) -> None:
    etag = fetch_etag(client, PAGE, resource)
    client.force_login(make_user())
    assert "ETag" not in fetch(client, PAGE, resource, If_None_Match=etag)

    settings.DATASTORE_SEARCH_PAGES_VERSION = ""
    response = fetch(Client(), PAGE, resource, If_None_Match=etag)
    assert response.status_code == 200
    assert "ETag" not in response


@pytest.mark.parametrize(
    "address",
    [f"{each}&limit=x" for each in (SEARCH, FACETS, AGGREGATE)] + [f"{SEARCH}0", f"{DUMP}0"],
)
def test_a_failure_has_none(client: Client, resource: Resource, address: str) -> None:
    response = fetch(client, address, resource, If_None_Match="*")

    assert response.status_code in {404, 409}
    assert "ETag" not in response


@pytest.mark.parametrize("header", ["If-Match", "If-Unmodified-Since"])
@pytest.mark.parametrize("address", [SEARCH, DUMP, PAGE])
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
def test_if_modified_since_alone_is_enough(
    client: Client, resource: Resource, settled: None, address: str
) -> None:
    first = fetch(client, address, resource)
    modified = parsedate_to_datetime(first["Last-Modified"])
    resource.refresh_from_db()
    assert modified == resource.modified_at.replace(microsecond=0)

    for seconds, status in ((-1, 200), (0, 304), (60, 304)):
        since = http_date((modified + timedelta(seconds=seconds)).timestamp())
        response = fetch(client, address, resource, If_Modified_Since=since)
        assert response.status_code == status
    both = fetch(
        client, address, resource, If_Modified_Since=http_date(2**33), If_None_Match='"other"'
    )
    assert both.status_code == 200  # If-Modified-Since counts only without If-None-Match


def test_there_is_no_last_modified_within_the_second_of_a_change(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timedelta(seconds=1) < http_caching._MIN_AGE
    monkeypatch.setattr(http_caching, "_MIN_AGE", timedelta(days=1))

    response = fetch(client, SEARCH, resource)

    assert "ETag" in response
    assert "Last-Modified" not in response
    since = fetch(client, SEARCH, resource, If_Modified_Since=http_date(2**33))
    assert since.status_code == 200


# Who may keep it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [SEARCH, INFO, FACETS, AGGREGATE, DUMP])
def test_a_private_answer_is_for_its_reader_alone(
    client: Client, hidden: Resource, address: str
) -> None:
    token = make_token()

    first = fetch(client, address, hidden, Authorization=token)
    again = fetch(client, address, hidden, Authorization=token, If_None_Match=first["ETag"])

    assert again.status_code == 304
    for response in (first, again):
        assert response["Cache-Control"] == "max-age=0, must-revalidate, private"
        assert "Authorization" in response["Vary"]
    assert fetch(client, address, hidden, If_None_Match=first["ETag"]).status_code == 403


@each_address
def test_a_public_answer_may_be_stored_by_shared_caches(
    client: Client, resource: Resource, address: str
) -> None:
    response = fetch(client, address, resource)

    assert response["Cache-Control"] == "max-age=0, must-revalidate, public"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize(
    "action", ["datastore_search", "datastore_info", "package_search", "package_list"]
)
@pytest.mark.needs("catalogue")
def test_an_answer_to_a_request_with_a_body_has_no_key(
    client: Client, resource: Resource, settings: Any, method: str, action: str
) -> None:
    settings.DATASTORE_SEARCH_SURROGATE_MAX_AGE = timedelta(seconds=60)
    sent = {"id": str(resource.pk)} if "datastore" in action else {"limit": 5}
    if action == "package_search":
        sent = {"q": "nothing"}
    address = f"/en/api/3/action/{action}"

    response = client.generic(method, address, json.dumps(sent), content_type="application/json")

    assert response.status_code == 200
    assert not {"Surrogate-Control", "Surrogate-Key"} & response.headers.keys()
    assert ("no-store" in response["Cache-Control"]) is (method != "POST")
    assert "Surrogate-Key" in client.get(address, sent).headers


def test_an_answer_to_a_write_is_never_stored(client: Client, resource: Resource) -> None:
    token = make_token(make_user("writer", permissions=("change_resource", "view_resource")))
    sent = {"resource_id": str(resource.pk), "force": True, "records": [{"code": "1"}]}

    response = act(client, "datastore_upsert", {**sent, "method": "insert"}, token)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert "ETag" not in response


# Compressed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [SEARCH, SEARCH + "&limit=32000", DUMP, PAGE])
def test_a_compressed_answer_is_the_same_and_has_the_same_etag(
    client: Client, settings: Any, db: None, address: str
) -> None:
    resource = make_resource("code,text\n" + "".join(f"{n},{'x' * 600}\n" for n in range(2_000)))
    plain = fetch(client, address, resource)
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]

    packed = fetch(Client(), address, resource, Accept_Encoding="gzip")

    assert packed["Content-Encoding"] == "gzip"
    assert packed["ETag"] == plain["ETag"]
    assert packed.streaming == plain.streaming
    if address != PAGE:  # GZipMiddleware adds random bytes to pages
        assert gzip.decompress(packed.body) == plain.body
    again = fetch(Client(), address, resource, Accept_Encoding="gzip", If_None_Match=packed["ETag"])
    assert (again.status_code, again.body) == (304, b"")

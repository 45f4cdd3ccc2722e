"""HTTP: methods, content types, bodies, addresses, and no redirects."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import include, path
from django.utils import translation

from datastore_search.messages.requests import TrailingSlash
from datastore_search.models import Resource

from ...builders import ask, check_error, get_ids

ACTION = "/api/3/action/datastore_search"
FORM = "application/x-www-form-urlencoded"
PREFIXES = ("", "/vi", "/en_GB", "/zh-hans")

#: A portal that has the app under its languages alone, for ``settings.ROOT_URLCONF``.
urlpatterns = i18n_patterns(path("", include("datastore_search.urls")))


@pytest.fixture
def languages_only(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.core.api.test_http"


def text_of(resource: Resource, **sent: object) -> str:
    return json.dumps({"resource_id": str(resource.pk), **sent}, ensure_ascii=False)


# Methods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["limit=1", "limit=-1", "q=x&callback=f"])
def test_head_has_the_headers_of_get(client: Client, resource: Resource, query: str) -> None:
    address = f"{ACTION}?resource_id={resource.pk}&{query}"

    headers = {"X-Request-ID": uuid4().hex}  # each request has an id

    by_head = client.head(address, headers=headers)
    by_get = client.get(address, headers=headers)

    assert by_head.status_code == by_get.status_code
    assert by_head.headers == by_get.headers
    assert by_get["Content-Length"] == str(len(by_get.content))


def test_a_connection_goes_on_after_head_and_after_refusals(live_server: Any) -> None:
    requests = [
        ("HEAD", ACTION, None, 409),
        ("PUT", ACTION, b"{}", 405),
        ("HEAD", "/api/3", None, 200),
        ("POST", ACTION, b"x" * 60_000, 415),
        ("POST", "/api/3/action/nope", b"x" * 60_000, 400),
        ("GET", "/api/3", None, 200),
    ]
    answers = []
    with closing(HTTPConnection(urlsplit(live_server.url).netloc, timeout=60)) as connection:
        for method, address, body, _status in requests:
            connection.request(method, address, body, {"Content-Type": "text/plain"})
            with connection.getresponse() as answer:
                answers.append((method, answer.status, len(answer.read()) > 0))

    assert answers == [(method, status, method != "HEAD") for method, _, _, status in requests]


@pytest.mark.parametrize("action", ["datastore_search", "datastore_delete", "nope"])
def test_options_is_answered_before_anything_else(client: Client, action: str) -> None:
    response = client.options(f"/vi/api/action/{action}?limit=x", "{", "application/json")

    assert (response.status_code, response.content) == (200, b"")
    assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
def test_an_unknown_method_is_405_and_names_the_known_ones(
    client: Client, db: None, method: str
) -> None:
    response = client.generic(method, ACTION)

    message = check_error(response, 405)["message"]
    assert method in message
    assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("address", ["/api/3", "/api/3/"])
def test_every_reader_may_read_the_version(client: Client, prefix: str, address: str) -> None:
    by_get, by_head = client.get(prefix + address), client.head(prefix + address)

    assert (by_get.status_code, by_get.json()) == (200, {"version": 3})
    assert (by_head.status_code, by_head["Content-Length"]) == (200, str(len(by_get.content)))


# Content types ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FORM, f"{FORM}; charset=latin-1", f"{FORM};charset=nonsense"])
def test_a_form_is_unicode_whatever_charset_it_claims(
    client: Client, resource: Resource, kind: str
) -> None:
    body = f"resource_id={resource.pk}&q=Hà Nội".encode()

    assert get_ids(client.generic("POST", ACTION, body, kind)) == [4]


@pytest.mark.parametrize("kind", ["application/json; charset=latin-1", "application/json", FORM])
def test_accents_in_the_encoding_of_windows_powershell_are_refused_with_a_reason(
    client: Client, resource: Resource, kind: str
) -> None:
    body = text_of(resource, q="café").encode("latin-1")

    error = check_error(client.generic("POST", ACTION, body, kind), 400)

    assert error["message"] == "The request's body is not text in a known Unicode encoding."


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("POST", "text/json"),
        ("GET", "text/plain"),
        ("POST", "application/x-json"),
        ("POST", "json"),
        ("GET", "application/json, text/plain"),
    ],
)
def test_another_content_type_is_415_and_named(
    client: Client, db: None, method: str, kind: str
) -> None:
    response = client.generic(method, ACTION, "{}", content_type=kind)

    assert kind in check_error(response, 415)["message"]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_by_get_is_415_and_the_error_says_how_to_send_it(
    client: Client, db: None, kind: str
) -> None:
    response = client.generic("GET", ACTION, "resource_id=a", content_type=kind)

    assert "read by POST only" in check_error(response, 415)["message"]


def test_the_accept_header_has_no_influence(client: Client, resource: Resource) -> None:
    for accept in ("text/html", "application/xml;q=0.9", "image/*", "nonsense", ""):
        response = ask(client, text_of(resource, limit=1), Accept=accept)

        assert get_ids(response) == [1]
        assert response["Content-Type"] == "application/json; charset=utf-8"


# Where the parameters are -------------------------------------------------------------------------


def test_json_in_the_body_of_a_get_is_read(client: Client, resource: Resource) -> None:
    response = client.generic("GET", ACTION, text_of(resource, limit=2), "application/json")

    assert get_ids(response) == [1, 2]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("body", ['{"limit": 2, "q": "x"}', "{", "null", "\xff"])
def test_a_query_string_leaves_a_json_body_unread(
    client: Client, resource: Resource, body: str, method: str
) -> None:
    address = f"{ACTION}?resource_id={resource.pk}&limit=1"

    assert get_ids(client.generic(method, address, body, "application/json")) == [1]


@pytest.mark.parametrize("form", ["{}", "\n  {}\n", "\ufeff{}"])
def test_json_that_calls_itself_a_form_is_read(
    client: Client, resource: Resource, form: str
) -> None:
    body = form.replace("{}", text_of(resource, q="Hà Nội", filters={"title": {"ne": "a=b&c"}}))

    assert get_ids(client.post(ACTION, body.encode(), content_type=FORM)) == [4]


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("application/json", "utf-8"),
        ("application/json; charset=latin-1", "utf-8"),
        ("application/json; charset=nonsense", "utf-8"),
        ("application/json; charset=utf-8", "utf-8-sig"),
        ("Application/JSON; odata=verbose; x", "utf-16"),
        ("application/ld+json", "utf-16-le"),
        ("", "utf-32-be"),
    ],
)
def test_json_is_read_in_any_unicode_encoding(
    client: Client, resource: Resource, kind: str, encoding: str
) -> None:
    body = json.dumps({"resource_id": str(resource.pk), "q": "Hà Nội"}, ensure_ascii=False)

    response = client.generic("POST", ACTION, body.encode(encoding), kind)

    assert get_ids(response) == [4]


def test_an_empty_form_leaves_the_query_string(client: Client, resource: Resource) -> None:
    for kind in (FORM, "application/json", "text/plain"):
        response = client.post(f"{ACTION}?resource_id={resource.pk}&limit=1", "", content_type=kind)
        assert get_ids(response) == [1]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"--b\r\nrubbish"),
        (FORM, b"&".join(b"a%d=1" % i for i in range(2000))),
        (FORM, b"{"),
    ],
)
def test_a_broken_form_is_refused(client: Client, db: None, kind: str, body: bytes) -> None:
    response = client.post(ACTION, body, content_type=kind)

    assert response.status_code in (400, 409)
    assert response.json()["success"] is False


def test_a_form_without_a_boundary_is_refused_in_words(client: Client, db: None) -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary="):
        response = client.post(ACTION, b"--b\r\n", content_type=kind)
        assert "boundary" in check_error(response, 400)["message"]


def test_invalid_bytes_never_break_anything(client: Client, resource: Resource) -> None:
    bodies: list[tuple[str, Any]] = [
        (FORM, f"resource_id={resource.pk}&q=%ff%fe".encode()),
        (FORM, b"resource_id=%00"),
        (FORM, b"\xff\xfe=\x00"),
        ("application/json", b'{"resource_id": "\xff"}'),
    ]
    for kind, body in bodies:
        assert client.post(ACTION, body, content_type=kind).status_code in (200, 400, 404, 409)
    check_error(client.get(ACTION + "?resource_id=%00"), 409)


def test_json_that_is_percent_encoded_is_read(client: Client, resource: Resource) -> None:
    body = text_of(resource, limit=1).encode().hex("%")

    assert get_ids(client.post(ACTION, f"%{body}", content_type=FORM)) == [1]


@pytest.mark.parametrize(
    ("action", "name", "text"),
    [
        ("datastore_search", "filters", '{"code": "\\u0000"}'),
        ("datastore_search", "q", '{"code": "\\ud800"}'),
        ("package_search", "facet.field", '["\\ud800"]'),
    ],
)
def test_json_in_a_text_has_no_character_that_cannot_be_stored(
    client: Client, resource: Resource, action: str, name: str, text: str
) -> None:
    named = {"resource_id": str(resource.pk)} if action == "datastore_search" else {}

    response = client.get(f"/en/api/3/action/{action}", {**named, name: text})

    error = check_error(response, 409)
    assert error == {name: ["The text contains a character that cannot be stored."]}


@pytest.mark.parametrize("name", ["upload", "q", "filters"])
def test_a_file_is_refused_by_its_name(client: Client, resource: Resource, name: str) -> None:
    file = SimpleUploadedFile("new.csv", b"code\n009\n", "text/csv")

    response = client.post(ACTION, {"resource_id": str(resource.pk), name: file})

    assert check_error(response, 409) == {name: ["Files cannot be sent."]}


@pytest.mark.parametrize("name", ["limit", "offset", "filters", "records_format", "language"])
def test_a_repeated_single_parameter_is_refused(
    client: Client, resource: Resource, name: str
) -> None:
    response = client.get(f"{ACTION}?resource_id={resource.pk}&{name}=1&{name}=2")

    assert list(check_error(response, 409)) == [name]


# Addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(("version", "method"), [("/api/action", "POST"), ("/api/3/action", "GET")])
def test_both_versions_answer_with_and_without_a_locale(
    client: Client, resource: Resource, prefix: str, version: str, method: str
) -> None:
    address = f"{prefix}{version}/datastore_search?resource_id={resource.pk}&limit=1"

    response = client.generic(method, address)

    assert get_ids(response) == [1]
    assert response.json()["help"] == (
        f"http://testserver{prefix}/api/3/action/help_show?name=datastore_search"
    )


@pytest.mark.parametrize(
    "address",
    [
        "/api/3/action/datastore_search/",
        "/en_GB/api/action/datastore_search/x",
        "/api/action//datastore_search",
        "/en_GB/api/3/action/../action/datastore_search",
    ],
)
def test_an_address_behind_that_of_an_action_is_404_in_the_envelope(
    client: Client, db: None, address: str
) -> None:
    for method in ("GET", "POST"):
        check_error(client.generic(method, address), 404)
    assert client.head(address).status_code == 404


@pytest.mark.parametrize("slashes", ["/", "//"])
@pytest.mark.parametrize("language", ["", "/vi"])
def test_a_slash_behind_the_name_of_an_action_is_named(
    client: Client, db: None, language: str, slashes: str
) -> None:
    error = check_error(client.post(f"{language}{ACTION}{slashes}"), 404)

    with translation.override("vi" if language else "en"):
        assert error["message"] == str(TrailingSlash())


@pytest.mark.parametrize(
    ("prefix", "method"), [("", "GET"), ("/en_GB", "POST"), ("/vi", "PUT"), ("/xx_YY", "GET")]
)
@pytest.mark.parametrize(
    "address",
    [
        "/api/",
        "/api/nope",
        "/api//action/datastore_search",
        "/api/4/action/datastore_search",
        "/api/3/action",
        "/api/3/rest/dataset",
        "/datastore/dump",
    ],
)
def test_an_unknown_address_of_the_api_is_404_in_the_envelope(
    client: Client, db: None, prefix: str, address: str, method: str
) -> None:
    response = client.generic(method, f"{prefix}{address}", headers={"Accept-Language": "ja"})

    error = check_error(response, 404)
    known = "" if prefix.startswith("/xx") else prefix
    assert f"“{known}/api/3/action/”" in error["message"]
    assert response.json()["help"].startswith(f"http://testserver{known}/api/3/action/help_show?")
    assert response["Content-Language"] == {"/vi": "vi", "/en_GB": "en-gb"}.get(prefix, "en")
    assert response["Content-Length"] == str(len(response.content))


@pytest.mark.usefixtures("languages_only")
@pytest.mark.parametrize("address", [ACTION, f"/xx_YY{ACTION}"])
def test_an_unknown_language_is_answered_in_the_default_one(client: Client, address: str) -> None:
    error = check_error(client.post(address), 404)

    assert "“/en/api/3/action/”" in error["message"]


@pytest.mark.parametrize(
    "address",
    ["//api/action/x", "/API/action/datastore_search", "/apis", "/en/apis/x", "/shop/api/x"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_outside_of_the_api_is_left_to_the_portal(
    client: Client, db: None, address: str, method: str
) -> None:
    response = client.generic(method, address)

    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.needs("openapi")
def test_an_address_below_the_api_that_the_portal_answers_stays_the_portals(
    client: Client, db: None
) -> None:
    assert client.get("/en/api/docs/")["Content-Type"].startswith("text/html")
    assert client.get("/api/docs/")["Location"] == "/en/api/docs/"


@pytest.mark.needs("pages")
def test_a_portal_without_the_api_keeps_its_own_404(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "datastore_search.contrib.operations.health.urls"

    assert client.get("/api/3/action/x")["Content-Type"].startswith("text/html")


def test_the_name_of_an_action_is_written_as_it_is(client: Client, db: None) -> None:
    for name in ("Datastore_Search", "datastore_search.json", "datastore_search%00", " "):
        check_error(client.get(f"/api/3/action/{name}"), 400)


# Redirects ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("languages_only")
@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("POST", ACTION),
        ("PUT", "/api/3"),
        ("OPTIONS", "/api/3/action/datastore_search/"),
        ("POST", "//api/action/datastore_search"),
        ("POST", "/datastore/"),
    ],
)
def test_only_a_page_is_redirected_to_a_language(client: Client, method: str, address: str) -> None:
    response = client.generic(method, address, "{}", "application/json")

    assert response.status_code == 404


@pytest.mark.usefixtures("languages_only")
@pytest.mark.parametrize("prefix", ["/vi", "/en_GB"])
@pytest.mark.needs("pages")
def test_a_portal_may_have_the_app_under_its_languages_alone(
    client: Client, resource: Resource, prefix: str
) -> None:
    path = f"{prefix}{ACTION}"

    assert get_ids(ask(client, text_of(resource, limit=1), path=path)) == [1]
    assert client.get("/datastore/", headers={"Accept-Language": "vi"})["Location"] == (
        "/vi/datastore/"
    )


def test_an_answer_names_the_language_of_its_messages(client: Client, db: None) -> None:
    for prefix, language in (("", "en"), ("/fr", "fr"), ("/en_GB", "en-gb")):
        response = client.get(f"{prefix}{ACTION}", headers={"Accept-Language": "vi"})

        check_error(response, 409)
        assert response["Content-Language"] == language


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP", "gzip, identity"])
@pytest.mark.parametrize(
    "kind", ["application/json", "application/x-www-form-urlencoded", "", "multipart/form-data"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_compressed_body_is_415_and_not_repeated(
    client: Client, resource: Resource, encoding: str, kind: str, method: str
) -> None:
    body = gzip.compress(json.dumps({"resource_id": str(resource.pk)}).encode())
    address = "/en/api/3/action/datastore_search"

    refused = client.generic(method, address, body, kind, headers={"Content-Encoding": encoding})

    error = check_error(refused, 415)
    assert error == {
        "message": f"The content encoding “{encoding}” is not supported."
        " Send the body without compression."
    }

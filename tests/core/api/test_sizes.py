"""Limits of a request's size, checked before its body is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.backends import BaseBackend
from django.core.asgi import get_asgi_application
from django.test import Client

from datastore_search.api import authentication
from datastore_search.api.parameters import MAX_JSON_DEPTH, RecordsField
from datastore_search.models import Resource
from datastore_search.web.views import MAX_PARAMETERS, MAX_QUERY_STRING_BYTES

from ...builders import act, ask, check_error, get_ids, make_token, make_user, make_user_token
from ...streams import FILE, MULTIPART, Answer, send

SEARCH = "/en/api/3/action/datastore_search"
UPSERT = "/en/api/3/action/datastore_upsert"
CREATE = "/en/api/3/action/datastore_create"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TOO_LARGE = "Request Too Large"
MB = 2**20


@pytest.fixture(autouse=True)
def portal_without_limits(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = None


@pytest.fixture
def writer(db: None) -> str:
    return make_token(make_user("writer", permissions=("add_resource", "change_resource")))


def get_message(answer: Answer, kind: str) -> str:
    error = json.loads(answer.content)["error"]
    assert error["__type"] == kind
    message: str = error["message"]
    return message


# Bodies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "kind", "action"),
    [
        (FILE, MULTIPART, "datastore_search"),
        (b'{"q": "', JSON, "datastore_facets"),
        (b"q=", FORM, "datastore_info"),
        (b'{"q": "', "text/plain", "help_show"),
    ],
)
def test_a_body_that_is_too_large_is_not_read(start: bytes, kind: str, action: str) -> None:
    answer = send(f"/en/api/3/action/{action}", start, 1_500_000_000, kind)

    assert (answer.status, answer.bytes_read) == (413, 0)
    assert get_message(answer, TOO_LARGE) == "The request's body is larger than 65536 bytes."


def test_a_body_as_large_as_the_limit_is_read(settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = 1_000

    assert send(SEARCH, b"{", 1_000, JSON).status == 400
    assert send(SEARCH, b"{", 1_001, JSON).status == 413


@pytest.mark.parametrize(
    "parameters",
    [
        {"sort": ["a"] * 250_000},
        {"filters": [{}] * 345_000},
        {"q": ["a"] * 250_000},
        {"fields": [0] * 500_000},
        {str(number): 0 for number in range(90_000)},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
@pytest.mark.parametrize("token", ["", "nonsense", "valid"])
def test_a_body_of_many_values_is_refused_before_it_is_parsed(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any], token: str
) -> None:
    monkeypatch.setattr("datastore_search.api.parameters._DECODER", None)
    body = json.dumps({"resource_id": str(resource.pk), **parameters}, separators=(",", ":"))
    sent = make_token() if token == "valid" else token

    answer = send(SEARCH, body.encode(), len(body), JSON, HTTP_AUTHORIZATION=sent)

    is_read = token == "valid"
    assert (answer.status, answer.bytes_read) == (413, len(body) if is_read else 0)
    assert get_message(answer, TOO_LARGE) == (
        "The JSON has more than 25000 values."
        if is_read
        else "The request's body is larger than 65536 bytes."
    )


def test_commas_and_brackets_in_texts_are_no_values(client: Client, resource: Resource) -> None:
    sent = {"resource_id": str(resource.pk), "filters": {"code": ["001", '\\"[{,' * 9_000]}}

    assert get_ids(ask(client, sent)) == [1]


@pytest.mark.parametrize("is_anonymous", [True, False])
def test_ten_thousand_values_are_searched_with_a_token_or_a_larger_limit(
    client: Client, resource: Resource, settings: Any, is_anonymous: bool
) -> None:
    values = [f"a longer value {number:05}" for number in range(9_999)]
    sent = {"resource_id": str(resource.pk), "filters": {"code": [*values, "001"]}}
    refused = ask(client, sent)
    if is_anonymous:
        settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = 500_000
        found = ask(client, sent)
    else:
        found = act(client, "datastore_search", sent, make_user_token("reader"))

    assert check_error(refused, 413)
    assert get_ids(found) == [1]


def test_the_limit_of_the_portal_counts_where_it_is_less(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    answer = send(SEARCH, b"{", 101, JSON)

    assert get_message(answer, TOO_LARGE) == "The request's body is larger than 100 bytes."


def test_a_dump_reads_no_large_body_either() -> None:
    answer = send("/en/datastore/dump/x", b"{", 2 * MB, JSON, REQUEST_METHOD="GET")

    assert (answer.status, answer.bytes_read) == (413, 0)


@pytest.mark.parametrize("length", ["many", "-1", "1e3", "٣"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    answer = send(SEARCH, b"{}", 2, JSON, CONTENT_LENGTH=length)

    assert answer.status == 400
    assert get_message(answer, "Bad Request") == "The header “Content-Length” is not a number."


def test_nothing_is_read_without_a_length() -> None:
    answer = send(SEARCH, b"{", 2 * MB, JSON, CONTENT_LENGTH="")

    assert (answer.status, answer.bytes_read) == (409, 0)  # without a resource_id


async def send_over_asgi(*parts: bytes) -> int:
    """Send a body in parts, without a Content-Length."""
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": SEARCH,
        "query_string": b"", "headers": [(b"host", b"localhost"), (b"content-type", JSON.encode())],
    }  # fmt: skip
    server: Any = ApplicationCommunicator(get_asgi_application(), scope)  # type: ignore[no-untyped-call] # asgiref's
    for part in parts:
        await server.send_input({"type": "http.request", "body": part, "more_body": True})
    await server.send_input({"type": "http.request", "body": b""})
    start = await server.receive_output(timeout=60)
    await server.receive_output(timeout=60)
    await server.wait(timeout=60)
    status: int = start["status"]
    return status


def test_an_asgi_server_may_send_a_body_without_its_length() -> None:
    assert asyncio.run(send_over_asgi(b" " * 2**16, b" ")) == 413
    assert asyncio.run(send_over_asgi(b"x" * 2**16)) == 400  # it is read, and is no JSON


@pytest.mark.parametrize("path", [SEARCH, f"{UPSERT}?resource_id=rivers"])
def test_a_body_without_a_length_is_refused_under_wsgi_not_taken_for_none(path: str) -> None:
    chunked = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}

    answer = send(path, b"{}", 2, JSON, **chunked)

    message = "The header “Content-Length” is not a number."
    assert (answer.status, get_message(answer, "Bad Request")) == (400, message)


def test_a_form_is_read_no_further_than_its_first_file(settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = MB

    answer = send(SEARCH, FILE, 900_000, MULTIPART)

    assert answer.status == 409
    assert json.loads(answer.content)["error"]["file"] == ["Files cannot be sent."]
    assert answer.bytes_read < 200_000


# Writing ------------------------------------------------------------------------------------------


def test_a_writer_may_send_more_than_a_reader(client: Client, writer: str) -> None:
    records = [{"t": "x" * 1_000} for _number in range(2_000)]
    sent = {"resource": {"name": "New"}, "fields": [{"id": "t"}], "records": records}

    assert act(client, "datastore_create", sent, writer).status_code == 200
    assert act(client, "datastore_search", sent, writer).status_code == 413


def test_a_writer_may_not_send_more_than_the_limit_of_writers(writer: str, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_WRITE_BODY_BYTES = 2 * MB

    answer = send(CREATE, b"{", 2 * MB + 1, JSON, HTTP_AUTHORIZATION=writer)

    assert (answer.status, answer.bytes_read) == (413, 0)
    assert get_message(answer, TOO_LARGE) == "The request's body is larger than 2097152 bytes."


@pytest.mark.parametrize("token", ["", "nonsense"])
@pytest.mark.parametrize("size", [2**16 + 1, 50 * MB])
@pytest.mark.usefixtures("db")
def test_the_body_of_an_anonymous_write_is_not_read(token: str, size: int) -> None:
    answer = send(CREATE, b"{", size, JSON, HTTP_AUTHORIZATION=token)

    assert (answer.status, answer.bytes_read) == (403, 0)
    assert get_message(answer, "Authorization Error").startswith("Access denied: ")


@pytest.mark.parametrize("verbs", [(), ("view",)])
@pytest.mark.usefixtures("db")
def test_the_body_of_a_user_who_may_write_nothing_is_not_read(verbs: tuple[str, ...]) -> None:
    token = make_user_token("nobody", *verbs)

    answer = send(UPSERT, b"{", 10 * MB, JSON, HTTP_AUTHORIZATION=token)

    assert (answer.status, answer.bytes_read) == (403, 0)
    message = "Access denied: user nobody may not change any resource."
    assert get_message(answer, "Authorization Error") == message


@pytest.mark.parametrize("verb", ["add", "change", "delete"])
@pytest.mark.usefixtures("db")
def test_the_body_of_a_user_who_may_write_something_is_read(verb: str) -> None:
    token = make_user_token("writer", verb)

    answer = send(UPSERT, b"{", MB, JSON, HTTP_AUTHORIZATION=token)

    assert (answer.status, answer.bytes_read) == (400, MB)


@pytest.mark.parametrize("is_granted", [True, False])
@pytest.mark.parametrize("backend", ["Permitting", "PermittingByQuery"])
def test_a_permission_for_one_resource_lets_a_large_body_be_read(
    resource: Resource, settings: Any, backend: str, is_granted: bool
) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"tests.core.api.test_sizes.{backend}"]
    Permitting.permitted = {resource.pk} if is_granted else set()
    token = make_user_token("writer")

    answer = send(UPSERT, b"{", MB, JSON, HTTP_AUTHORIZATION=token)

    assert (answer.status, answer.bytes_read) == ((400, MB) if is_granted else (403, 0))


class Permitting(BaseBackend):
    """A backend of a portal with permissions for single resources."""

    permitted: ClassVar[set[Any]] = set()

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            perm == "datastore_search.change_resource" and getattr(obj, "pk", 0) in self.permitted
        )


class PermittingByQuery(Permitting):
    """The same, for lists too."""

    def filter_permitted(self, user: Any, permissions: Any, objects: Any) -> Any:
        return objects.filter(pk__in=self.permitted)


def test_a_call_that_writes_may_have_many_values(client: Client, writer: str) -> None:
    fields = [{"id": f"f{number}"} for number in range(40)]
    records = [{f"f{number}": "" for number in range(40)} for _record in range(1_000)]
    sent = {"resource": {"name": "N"}, "fields": fields, "records": records}

    assert act(client, "datastore_create", sent, writer).status_code == 200


def test_the_values_of_a_call_that_writes_are_counted_too(
    client: Client, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "MAX_WRITTEN_VALUES", 50_000)
    sent = {"resource": {"name": "N"}, "records": [{}] * 30_000}

    error = check_error(act(client, "datastore_create", sent, writer), 413)

    assert error == {"message": "The JSON has more than 50000 values."}


@pytest.mark.parametrize("action", ["datastore_create", "datastore_upsert"])
def test_the_number_of_records_in_a_call_is_limited(
    client: Client, writer: str, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(RecordsField, "max_items", 3)
    resource = act(client, "datastore_create", {"resource": {"name": "N"}}, writer).json()
    sent = {"resource_id": resource["result"]["resource_id"], "method": "insert"}
    if action == "datastore_create":
        sent.pop("method")
    error = ["There are more than 3 records. Send them in several calls."]

    too_many: list[dict[str, Any]] = [{}] * 4
    for records in (too_many, json.dumps(too_many)):
        response = act(client, action, {**sent, "records": records}, writer)
        assert check_error(response, 409) == {"records": error}
    assert act(client, action, {**sent, "records": [{}] * 3}, writer).status_code == 200


def test_lists_of_a_call_have_limits(client: Client, writer: str) -> None:
    sent = {
        "resource": {"name": "New"},
        "fields": [{"id": f"f{number}"} for number in range(5_001)],
        "aliases": [f"a{number}" for number in range(101)],
        "indexes": ",".join(f"f{number}" for number in range(101)),
        "primary_key": ["f"] * 5_001,
    }

    response = act(client, "datastore_create", sent, writer)

    assert check_error(response, 409) == {
        "fields": ["There are more than 5000 fields."],
        "aliases": ["There are more than 100 names."],
        "indexes": ["There are more than 100 names."],
        "primary_key": ["There are more than 5000 names."],
    }


# Addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SEARCH, "/en/datastore/dump/x"])
def test_the_length_of_a_query_string_is_limited(client: Client, path: str) -> None:
    start = f"{path}?q="
    long = "x" * (MAX_QUERY_STRING_BYTES - 1)

    error = check_error(client.get(start + long), 413)

    assert error["message"] == (
        "The query string is longer than 65536 bytes. Send the parameters by POST."
    )
    assert client.get(start + long[1:]).status_code == 409


@pytest.mark.parametrize(
    "path", ["/en/datastore/", f"/en/datastore/{'0' * 8}-0000-0000-0000-{'0' * 12}/"]
)
@pytest.mark.usefixtures("db")
def test_the_length_of_the_query_string_of_a_page_is_limited_too(client: Client, path: str) -> None:
    response = client.get(f"{path}?q={'x' * MAX_QUERY_STRING_BYTES}")

    assert response.status_code == 413
    assert "This address is too long. Leave some conditions out." in response.content.decode()
    assert client.get(f"{path}?{'&' * MAX_PARAMETERS}").status_code == 400


@pytest.mark.parametrize(("most", "portal"), [(MAX_PARAMETERS, None), (7, 7)])
def test_the_number_of_parameters_is_limited(
    client: Client, settings: Any, most: int, portal: int | None
) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = portal
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = MB
    many = "&".join(["a=1"] * (most + 1))
    multipart = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' for _n in range(most + 1)
    )

    assert client.get(f"{SEARCH}?{many.removesuffix('&a=1')}").status_code == 409  # unknown
    for response in (
        client.get(f"{SEARCH}?{many}"),
        client.post(SEARCH, many, content_type=FORM),
        client.post(SEARCH, multipart + b"--b--\r\n", content_type=MULTIPART),
    ):
        error = check_error(response, 400)
        assert error["message"] == f"The request has more than {most} parameters."


# JSON ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_depth_of_json_is_limited(
    client: Client, resource: Resource, opening: str, closing: str
) -> None:
    def sent(depth: int) -> str:
        value = opening * depth + "1" + closing * depth
        return f'{{"resource_id": "{resource.pk}", "total_estimation_threshold": {value}}}'

    error = check_error(ask(client, sent(MAX_JSON_DEPTH)), 400)

    assert error["message"] == "The JSON is nested too deeply: at most 300 levels are read."
    assert len(get_ids(ask(client, sent(MAX_JSON_DEPTH - 1)))) == 6


@pytest.mark.parametrize("text", ["[" * 500, '"[{' * 400, '\\"[[[' * 300, "[]{}" * 500, '\\\\"['])
def test_brackets_within_texts_and_beside_each_other_are_not_deep(
    client: Client, resource: Resource, settings: Any, text: str
) -> None:
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = MB
    sent = {"resource_id": str(resource.pk), "total_estimation_threshold": [text, [], {}] * 300}

    assert len(get_ids(ask(client, sent))) == 6


def test_a_parameter_that_is_nested_too_deeply_is_refused(
    client: Client, resource: Resource
) -> None:
    sent = {"resource_id": str(resource.pk), "filters": '{"a":' * 500 + "1" + "}" * 500}

    assert check_error(ask(client, sent), 409) == {"filters": ["Cannot parse JSON"]}

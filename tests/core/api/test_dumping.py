"""The dump: its formats, parameters, errors and snapshot."""

from __future__ import annotations

import csv
import gc
import io
import json
import time
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import AsyncClient, Client
from django.utils import timezone
from psycopg import sql

from datastore_search.downloads.dump import BLOCK_BYTES
from datastore_search.downloads.formats import formats
from datastore_search.downloads.xml_rows import name_elements
from datastore_search.messages.availability import QueryTooSlow
from datastore_search.models import Alias, Field, Resource, TableVersion
from datastore_search.search import Relation, build_relation

from ...builders import (
    QUERY_LANGUAGE_MESSAGE,
    check_error,
    fill_table,
    make_resource,
    make_slow,
    make_token,
    make_user,
)
from ...shared import ModuleTransaction
from ..downloads.files import FORMATS

LONG = "dài " * 49 + "dài!"

AWKWARD = (
    f'with blank,100%,"q""uote","a,b",Tên tỉnh,<&>,{LONG},ok,doc,list,day,moment\n'
    # Commas, quotes, a tab and a newline; all the digits.
    '"a, ""b""\tc\nd",12345678901234567890.12345678901234567890,9223372036854775807,NaN,'
    'Đắk Lắk,<b>&amp;</b>,"",true,"{""k"": [1.50, null, true, ""x""], ""e"": {}}",'
    '"[""x"", null]",2020-02-29,2020-02-29T12:34:56.789\n'
    "😀\u0001\ufffe,0.10,-9223372036854775808,1e300,,,x,false,,[],,\n"
)
TYPES = {
    "100%": "numeric",
    'q"uote': "int8",
    "a,b": "float8",
    "doc": "json",
    "list": "_text",
    "day": "date",
    "moment": "timestamp",
}
E300 = "1" + "0" * 300


@pytest.fixture(scope="module")
def _awkward(module_transaction: ModuleTransaction) -> Resource:
    return make_resource(AWKWARD, types=TYPES, name="awkward")


@pytest.fixture
def awkward(_awkward: Resource, db: None) -> Resource:
    return _awkward


def build_path(resource: Resource | str, locale: str = "en") -> str:
    name = resource.pk if isinstance(resource, Resource) else quote(resource)
    return f"/{locale}/datastore/dump/{name}"


def dump(client: Client, resource: Resource | str, **parameters: Any) -> Any:
    parameters = {
        name: json.dumps(value)
        if name in ("filters", "q") and not isinstance(value, str)
        else value
        for name, value in parameters.items()
    }
    return client.get(build_path(resource), parameters)


def read_text(response: Any) -> str:
    assert response.status_code == 200, response.content
    return str(response.getvalue().decode())


def read_rows(response: Any) -> list[list[str]]:
    """Read a CSV dump with its header."""
    return list(csv.reader(io.StringIO(read_text(response), newline="")))


def read_ids(response: Any) -> list[int]:
    """Return the first cell of each record of a CSV dump."""
    return [int(row[0]) for row in read_rows(response)[1:]]


# Formats ------------------------------------------------------------------------------------------


def test_csv_is_what_copy_writes_under_a_header(client: Client, awkward: Resource) -> None:
    response = dump(client, awkward)

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert read_text(response) == (
        f'_id,with blank,100%,"q""uote","a,b",Tên tỉnh,<&>,{LONG},ok,doc,list,day,moment\n'
        '1,"a, ""b""\tc\nd",12345678901234567890.12345678901234567890,9223372036854775807,NaN,'
        'Đắk Lắk,<b>&amp;</b>,"",t,"{""e"": {}, ""k"": [1.50, null, true, ""x""]}",'
        '"[""x"", null]",2020-02-29,2020-02-29T12:34:56.789\n'
        f"2,😀\u0001\ufffe,0.10,-9223372036854775808,{E300},,,x,f,null,[],,\n"
    )


def test_tsv_is_the_same_with_tabs(client: Client, awkward: Resource) -> None:
    response = dump(client, awkward, format="tsv", fields="with blank,100%,ok")

    assert response["Content-Type"] == "text/tab-separated-values; charset=utf-8"
    assert read_text(response) == (
        "with blank\t100%\tok\n"
        '"a, ""b""\tc\nd"\t12345678901234567890.12345678901234567890\tt\n'
        "😀\u0001\ufffe\t0.10\tf\n"
    )


def test_json_has_the_fields_and_a_list_for_each_record(client: Client, awkward: Resource) -> None:
    Field.objects.filter(resource=awkward, name="day").update(label="Ngày")

    response = dump(client, awkward, format="json", fields=["_id", "100%", 'q"uote', "day", "doc"])

    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert read_text(response) == (
        '{\n  "fields": [{"id":"_id","type":"int"},{"id":"100%","type":"numeric"},'
        '{"id":"q\\"uote","type":"int8"},{"id":"day","type":"date","info":{"label":"Ngày"}},'
        '{"id":"doc","type":"json"}],\n'
        '  "records": [\n'
        "    [1,12345678901234567890.12345678901234567890,9223372036854775807,"
        '"2020-02-29",{"e": {}, "k": [1.50, null, true, "x"]}],\n'
        "    [2,0.10,-9223372036854775808,null,null]\n"
        "]}\n"
    )


def test_xml_has_an_element_for_each_cell(client: Client, awkward: Resource) -> None:
    response = dump(client, awkward, format="xml")

    assert response["Content-Type"] == "text/xml; charset=utf-8"
    long = "dài_" * 49 + "dài"
    assert read_text(response) == (
        '<data xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        '<row _id="1"><with_blank name="with blank">a, "b"\tc\nd</with_blank>'
        '<field name="100%">12345678901234567890.12345678901234567890</field>'
        '<quote name="q&quot;uote">9223372036854775807</quote><ab name="a,b">NaN</ab>'
        '<Tên_tỉnh name="Tên tỉnh">Đắk Lắk</Tên_tỉnh>'
        '<field_0 name="&lt;&amp;&gt;">&lt;b&gt;&amp;amp;&lt;/b&gt;</field_0>'
        f'<{long} name="{LONG}" /><ok>True</ok>'
        '<doc><value key="e" /><value key="k"><value key="0">1.50</value>'
        '<value xsi:nil="true" key="1" /><value key="2">True</value><value key="3">x</value>'
        "</value></doc>"
        '<list><value key="0">x</value><value xsi:nil="true" key="1" /></list>'
        "<day>2020-02-29</day><moment>2020-02-29T12:34:56.789</moment></row>\n"
        '<row _id="2"><with_blank name="with blank">😀\N{REPLACEMENT CHARACTER}'
        "\N{REPLACEMENT CHARACTER}</with_blank>"
        '<field name="100%">0.10</field><quote name="q&quot;uote">-9223372036854775808</quote>'
        f'<ab name="a,b">{E300}</ab><Tên_tỉnh xsi:nil="true" name="Tên tỉnh" />'
        '<field_0 xsi:nil="true" name="&lt;&amp;&gt;" />'
        f'<{long} name="{LONG}">x</{long}><ok>False</ok>'
        '<doc xsi:nil="true" /><list /><day xsi:nil="true" /><moment xsi:nil="true" /></row>\n'
        "</data>\n"
    )


def test_xml_is_read_as_it_was_written(client: Client, db: None) -> None:
    text = "]]> & <!-- \t\r\n \u0085\u2028 ' \" "
    resource = make_resource(f'a\n"{text.replace(chr(34), chr(34) * 2)}"\n')

    (row,) = ET.fromstring(read_text(dump(client, resource, format="xml")))

    assert row.attrib == {"_id": "1"}
    assert row.findtext("a") == text


def test_json_that_nests_too_deeply_for_xml_is_written_as_text(client: Client, db: None) -> None:
    shallow, deep, abyss = (f"{'[' * depth}1.50{']' * depth}" for depth in (200, 201, 5000))
    resource = make_resource(f"doc\n{shallow}\n{deep}\n[]\n", types={"doc": "json"})
    # As deep as files may nest, not requests.
    run(f"UPDATE {{table}} SET data = '{{{{\"doc\": {abyss}}}}}' WHERE _id = 3", resource)

    rows = list(ET.fromstring(read_text(dump(client, resource, format="xml"))))

    assert [len(list(row.iter("value"))) for row in rows] == [200, 0, 0]
    assert [row.findtext("doc") for row in rows[1:]] == [deep, abyss]


@pytest.mark.parametrize(
    ("names", "elements"),
    [
        (["a", "Mixed Case", "Tên tỉnh", "đ_-."], ["a", "Mixed_Case", "Tên_tỉnh", "đ_-."]),
        (["a b", "a_b", "a  b", "a b "], ["a_b", "a_b_0", "a_b_1", "a_b_"]),
        (["2019", "%", "2019 total", "-x", "xml", "XMLname"],
         ["field", "field_0", "_total", "x", "field_1", "name"]),
        (["ª", "x²", "😀 smile", "٣a", "ーx", "中文", "a:b", "a\nb"],
         ["field", "x", "_smile", "a", "x_0", "中文", "ab", "a_b"]),
        (["Te\u0302n", "Tên"], ["Tên", "Tên_0"]),
    ],
)  # fmt: skip
def test_elements_are_named_after_fields(names: list[str], elements: list[str]) -> None:
    elements_found = name_elements(names)

    assert elements_found == elements
    for name in elements_found:
        assert ET.fromstring(f"<{name}/>").tag == name


@pytest.mark.parametrize("name", ["csv", "tsv", "json", "ndjson", "xml"])
def test_a_byte_order_mark_comes_first_on_request(
    client: Client, resource: Resource, name: str
) -> None:
    plain = dump(client, resource, format=name).getvalue()

    assert dump(client, resource, format=name, bom="true").getvalue() == b"\xef\xbb\xbf" + plain
    assert dump(client, resource, format=name, bom="false").getvalue() == plain


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("csv", "code,amount\n"),
        ("tsv", "code\tamount\n"),
        (
            "json",
            (
                '{\n  "fields": [{"id":"code","type":"text"},{"id":"amount","type":"numeric"}],\n'
                '  "records": [\n]}\n'
            ),
        ),
        ("xml", '<data xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n</data>\n'),
        ("ndjson", ""),
    ],
)
def test_no_records_leave_a_whole_file(
    client: Client, resource: Resource, name: str, empty: str
) -> None:
    parameters = {"format": name, "fields": "code,amount"}

    assert read_text(dump(client, resource, **parameters, limit=0)) == empty
    assert read_text(dump(client, resource, **parameters, offset=99)) == empty
    assert read_text(dump(client, resource, **parameters, filters={"code": "none"})) == empty


# Parameters ---------------------------------------------------------------------------------------


def test_all_records_are_dumped_whatever_the_page_size(
    client: Client, resource: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_LIMIT = 3

    assert read_ids(dump(client, resource)) == [1, 2, 3, 4, 5, 6]
    assert read_ids(dump(client, resource, limit=5)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("parameters", "ids"),
    [
        ({"limit": 2, "offset": 3}, [4, 5]),
        ({"limit": 2**63, "offset": 5}, [6]),
        ({"limit": ""}, [1, 2, 3, 4, 5, 6]),
        ({"filters": {"amount": {"gte": 10}}, "limit": 1}, [1]),
        ({"sort": "amount desc nulls last"}, [2, 1, 6, 5, 3, 4]),
        ({"sort": ["stage", "code desc"], "limit": 3}, [6, 4, 2]),
        ({"q": {"title": "noi"}}, [4, 5]),
        ({"full_text": "ha noi", "q": "river"}, [4, 5]),
        ({"q": "river | fox", "plain": "false"}, [1, 2]),
        ({"q": "runs", "language": "simple"}, []),
    ],
)
def test_the_parameters_say_which_records(
    client: Client, resource: Resource, parameters: dict[str, Any], ids: list[int]
) -> None:
    assert read_ids(dump(client, resource, **parameters)) == ids


@pytest.mark.parametrize("more", [{}, {"limit": 10**30}, {"distinct": "true", "limit": 5}])
def test_an_offset_beyond_all_numbers_finds_nothing(
    client: Client, resource: Resource, more: dict[str, Any]
) -> None:
    for number in (2**62, 2**63, 10**30):
        assert read_ids(dump(client, resource, offset=number, **more)) == []


def test_a_full_text_query_changes_neither_fields_nor_order(client: Client, db: None) -> None:
    resource = make_resource("a,b\nwater,air\nwater,water water\n")

    assert read_rows(dump(client, resource, q="water")) == [
        ["_id", "a", "b"],
        ["1", "water", "air"],
        ["2", "water", "water water"],
    ]
    header, first, _second = read_rows(dump(client, resource, q="water", fields="_id,rank"))
    assert header == ["_id", "rank"]
    assert 11 < float(first[1]) < 12  # a whole value


def test_an_alias_is_as_good_as_the_id(client: Client, resource: Resource) -> None:
    for name in ("sông/hồng 100&?#", "a"):
        Alias.objects.create(resource=resource, name=name)

        assert read_ids(dump(client, name, limit=1)) == [1]


# Failures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"format": "CSV"}, {"format": [f"Value must be one of {', '.join(formats)}"]}),
        ({"offset": "x"}, {"offset": ["Invalid integer"]}),
        ({"records_format": "csv"}, {"__extras": ["There is no parameter “records_format”."]}),
        ({"filters": "{"}, {"filters": ["Cannot parse JSON"]}),
        ({"fields": "nope"}, {"fields": ["Unknown field: “nope”"]}),
        ({"q": "a &", "plain": "false"}, {"q": [QUERY_LANGUAGE_MESSAGE]}),
    ],
)
def test_invalid_parameters_are_refused_by_name(
    client: Client, resource: Resource, parameters: dict[str, Any], error: dict[str, Any]
) -> None:
    response = dump(client, resource, **parameters)

    assert check_error(response, 409) == error
    assert "Content-Disposition" not in response


@pytest.mark.parametrize(
    "name", ["b1e00f9c-5551-4d39-ac98-de198a7980bd", "no/api/such", "x\0y", "/", "_table_metadata"]
)
def test_an_unknown_resource_is_404(client: Client, db: None, name: str) -> None:
    error = check_error(dump(client, name), 404)

    assert "was not found" in error["message"]


def test_other_methods_are_refused(resource: Resource) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user())

    for method in ("post", "put", "delete"):
        response = getattr(client, method)(build_path(resource))
        check_error(response, 405)
        assert response["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("name", ["csv", "json", "parquet", "xlsx"])
def test_a_dump_that_takes_too_long_to_begin_is_refused(
    client: Client, resource: Resource, settings: Any, name: str
) -> None:
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(milliseconds=100)
    make_slow(resource)

    for parameters in ({}, {"limit": 1, "filters": {"stage": "active"}}):
        response = dump(client, resource, format=name, **parameters)
        error = check_error(response, 409)
        assert error == {"query": ["Search took too long"]}


def test_a_dump_has_its_own_time_limit(client: Client, resource: Resource, settings: Any) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=1)

    assert len(read_ids(dump(client, resource))) == 6


def test_head_has_all_headers_and_reads_no_record(
    client: Client, resource: Resource, settings: Any
) -> None:
    headers = {"X-Request-ID": uuid4().hex}
    named = dict(client.get(build_path(resource), {"format": "json"}, headers=headers).headers)
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(seconds=5)
    make_slow(resource)  # a single record would take longer

    response = client.head(build_path(resource), {"format": "json"}, headers=headers)

    assert response.status_code == 200
    assert response.getvalue() == b""
    assert named.pop("Content-Length")  # unknown, as nothing is read
    named.pop("Last-Modified", None)  # none in the second of the change
    response.headers.pop("Last-Modified", None)
    assert response.headers == named
    assert client.head(build_path(resource), {"limit": "x"}).status_code == 409
    assert client.head(build_path(resource), {"fields": "nope"}).status_code == 409
    assert client.head(build_path("nope")).status_code == 404


def replace_once(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the records several times between their description and the read of them."""
    calls = iter(range(times))

    def touch(resource: Resource) -> None:
        Resource.objects.filter(pk=resource.pk).update(modified_at=timezone.now())
        connection.close()

    def found(resource: Resource) -> Relation:
        if next(calls, None) is not None:
            with ThreadPoolExecutor(1) as other:  # has its own connection, and commits
                other.submit(touch, resource).result()
            assert resource.table_version
            resource.table_version.pk = 2**40
        return build_relation(resource)

    monkeypatch.setattr("datastore_search.search.reads.build_relation", found)


def test_a_dump_of_replaced_records_is_retried(
    transactional_db: None, client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_once(3, monkeypatch)

    assert len(read_ids(dump(client, resource))) == 6


def test_a_resource_that_is_replaced_over_and_over_is_not_available(
    transactional_db: None, client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_once(99, monkeypatch)

    check_error(dump(client, resource), 503)


# Access -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"fields": "nope"}, {"q": "river"}])
def test_a_private_resource_is_refused_and_discloses_nothing(
    client: Client, hidden: Resource, parameters: dict[str, str]
) -> None:
    error = check_error(dump(client, hidden, **parameters), 403)

    assert set(error) == {"message"}
    assert client.head(build_path(hidden)).status_code == 403


def test_a_private_resource_is_dumped_to_a_token(client: Client, hidden: Resource) -> None:
    response = client.get(build_path(hidden), headers={"Authorization": make_token()})

    assert len(read_ids(response)) == 6
    assert response["Cache-Control"] == "max-age=0, must-revalidate, private"
    assert {"Authorization", "Cookie"} <= set(response["Vary"].split(", "))


def test_a_token_wins_over_the_session(client: Client, hidden: Resource) -> None:
    client.force_login(make_user(permissions=("view_resource",)))

    wrong = client.get(build_path(hidden), headers={"Authorization": "wrong"})
    powerless = client.get(
        build_path(hidden), headers={"Authorization": make_token(make_user("powerless"))}
    )

    assert "not valid" in check_error(wrong, 403)["message"]
    assert "powerless" in check_error(powerless, 403)["message"]


# The file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "disposition"),
    [
        ("", 'attachment; filename="river-levels.csv"'),
        ("River levels, 2019", 'attachment; filename="River levels, 2019.csv"'),
        (
            "Mực nước sông Đà",
            (
                'attachment; filename="muc-nuoc-song-da.csv"; filename*='
                "UTF-8''M%E1%BB%B1c%20n%C6%B0%E1%BB%9Bc%20s%C3%B4ng%20%C4%90%C3%A0.csv"
            ),
        ),
        (
            "水位",
            "attachment; filename=\"river-levels.csv\"; filename*=UTF-8''%E6%B0%B4%E4%BD%8D.csv",
        ),
        ('../a\\b:"c"\r\nX: y\u202e.', 'attachment; filename="a b c X y.csv"'),
        ("%2e/..", 'attachment; filename="2e.csv"'),
        ("...", 'attachment; filename="river-levels.csv"'),
        ("x" * 300, f'attachment; filename="{"x" * 200}.csv"'),
    ],
)
def test_the_file_is_named_after_the_title(
    client: Client, db: None, title: str, disposition: str
) -> None:
    resource = make_resource(name="river-levels", title=title)

    assert dump(client, resource)["Content-Disposition"] == disposition


@pytest.mark.parametrize("name", FORMATS)
def test_the_file_has_the_ending_of_its_format(
    client: Client, resource: Resource, name: str
) -> None:
    response = dump(client, resource, format=name)

    assert response["Content-Disposition"].endswith(f'.{formats[name].extension}"')
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "max-age=0, must-revalidate, public"


# The stream ---------------------------------------------------------------------------------------

ROWS = 10_000


def run(statement: str, resource: Resource) -> None:
    table = sql.Identifier(f"datastore_search_record_{resource.table_version_id}")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(table=table))


@pytest.fixture
def big(transactional_db: None) -> Iterator[Resource]:
    """10,000 records, some 10 MB; no stream leaves a connection or a transaction behind."""
    resource = make_resource("n,text\n0,x\n", types={"n": "int4", "text": "text"}, indexes=[])
    run("ALTER TABLE {table} ALTER COLUMN search DROP EXPRESSION", resource)  # quicker
    run(
        "INSERT INTO {table} (data, search) SELECT"
        " jsonb_build_object('n', n, 'text', repeat(md5(n::text), 31)), ''"
        f" FROM generate_series(1, {ROWS - 1}) AS n",
        resource,
    )
    yield resource
    assert not connection.in_atomic_block
    assert list_other_queries() == []


def list_other_queries() -> list[str]:
    """
    List the queries of other connections, after a wait for those that are closing.

    Those from before the test are of threads that other tests have left.
    """
    for _wait in range(10):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state || ' ' || query FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend' AND backend_start > (SELECT created_at"
                " FROM datastore_search_resource ORDER BY created_at LIMIT 1)"
            )
            queries = [doing for (doing,) in cursor.fetchall()]
        if not queries:
            break
        time.sleep(0.1)
    return queries


@pytest.mark.parametrize("name", ["csv", "json", pytest.param("xml", marks=pytest.mark.slow)])
def test_blocks_come_one_by_one_in_little_memory(big: Resource, name: str, client: Client) -> None:
    tracemalloc.start()
    response = dump(client, big, format=name)
    size, sizes = 0, []
    for block in response.streaming_content:
        size += len(block)
        sizes.append(len(block))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size > 10_000_000
    assert min(sizes) > 0
    assert max(sizes) < BLOCK_BYTES + 2000
    assert peak < 2 * 2**20


def test_changes_during_the_dump_do_not_show(big: Resource, client: Client) -> None:
    response = dump(client, big)
    blocks = iter(response.streaming_content)
    first_block = next(blocks)

    run("DELETE FROM {table} WHERE _id % 2 = 0", big)
    run("UPDATE {table} SET data = jsonb_build_object('n', -1, 'text', 'new')", big)
    run("INSERT INTO {table} (data, search) VALUES ('{{}}', '')", big)

    rows = list(csv.reader(io.StringIO((first_block + b"".join(blocks)).decode())))
    response.close()
    assert [row[:2] for row in rows[2:]] == [[str(n + 1), str(n)] for n in range(1, ROWS)]
    assert {row[2] for row in rows if len(row[2]) < 10} == {"text", "x"}


def test_records_that_are_replaced_during_the_dump_are_read_to_their_end(
    big: Resource, client: Client
) -> None:
    response = dump(client, big)
    blocks = iter(response.streaming_content)
    next(blocks)

    fill_table(big, "n,other\n1,new\n")

    assert sum(block.count(b"\n") for block in blocks) > ROWS / 2
    response.close()
    assert read_rows(dump(client, big)) == [["_id", "n", "other"], ["1", "1", "new"]]


def test_a_small_dump_holds_nothing_open(transactional_db: None, client: Client) -> None:
    resource = make_resource()
    response = dump(client, resource)

    assert list_other_queries() == []
    assert len(read_ids(response)) == 6

    response = dump(client, resource, format="ndjson", limit=0)  # a file without a byte

    assert list_other_queries() == []
    assert read_text(response) == ""


def test_requests_that_are_transactions_do_not_hold_the_dump(
    big: Resource, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.settings[DEFAULT_DB_ALIAS], "ATOMIC_REQUESTS", True)

    response = dump(client, big)

    assert not connection.in_atomic_block
    run("DELETE FROM {table}", big)
    assert len(read_ids(response)) == ROWS


def test_the_connection_of_the_request_stays_free(
    big: Resource, client: Client, settings: Any
) -> None:
    settings.SESSION_SAVE_EVERY_REQUEST = True
    client.force_login(make_user(permissions=("view_resource",)))
    Resource.objects.update(private=True)

    response = dump(client, big)

    assert client.cookies["sessionid"]
    assert len(read_ids(response)) == ROWS


@pytest.mark.parametrize(("name", "is_marked"), [("csv", True), ("ndjson", True), ("json", False)])
def test_a_dump_that_breaks_off_does_not_look_whole(
    big: Resource, client: Client, settings: Any, name: str, is_marked: bool
) -> None:
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(milliseconds=500)
    response = dump(client, big, format=name)
    time.sleep(1)

    blocks: list[bytes] = []
    with pytest.raises(QueryTooSlow):
        blocks.extend(response.streaming_content)
    response.close()

    *_others, end = b"".join(blocks).decode().splitlines()
    mark = '"This file is incomplete: the server could not send the rest.'
    assert (end == mark) is is_marked


def test_dumps_sent_at_once_are_limited(big: Resource, client: Client, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    small = make_resource()
    sent = dump(client, big)

    refused = dump(client, big)

    check_error(refused, 429)
    assert refused["Retry-After"] == "5"
    assert len(list_other_queries()) == 1  # the connection of the one that is sent
    assert len(read_ids(dump(client, small))) == 6  # which needs none
    assert client.head(build_path(big)).status_code == 200
    sent.close()
    assert len(read_ids(dump(client, big))) == ROWS


def test_a_dump_releases_its_slot_and_connection_however_it_ends(
    big: Resource, client: Client, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1

    for blocks_read in (0, 1, 5):
        response = dump(client, big)
        assert response.status_code == 200
        blocks = iter(response.streaming_content)
        for _block in range(blocks_read):
            next(blocks)
        assert list_other_queries()
        response.close()
        assert list_other_queries() == []
    response = dump(client, big)
    assert response.status_code == 200
    response._resource_closers.clear()  # as by a server that does not close
    del response, blocks
    gc.collect()
    assert list_other_queries() == []
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(milliseconds=500)
    response = dump(client, big)
    time.sleep(1)
    with pytest.raises(QueryTooSlow):
        list(response.streaming_content)
    settings.DATASTORE_SEARCH_DUMP_TIMEOUT = timedelta(hours=1)
    response = dump(client, big)
    assert response.status_code == 200
    response.close()


def test_an_asgi_server_gets_the_blocks_one_by_one(big: Resource) -> None:
    async def ask() -> list[bytes]:
        response: Any = await AsyncClient().get(build_path(big))
        return [block async for block in response]

    blocks = async_to_sync(ask)()

    assert len(blocks) > 100
    assert b"".join(blocks).count(b"\n") == ROWS + 1


def test_an_asgi_client_that_goes_away_ends_the_transaction(
    big: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.settings[DEFAULT_DB_ALIAS], "CONN_MAX_AGE", 0)
    request = {
        "type": "http",
        "method": "GET",
        "path": build_path(big),
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
    }

    async def ask() -> list[dict[str, Any]]:
        server: Any = ApplicationCommunicator(get_asgi_application(), request)  # type: ignore[no-untyped-call] # asgiref's
        await server.send_input({"type": "http.request"})
        received = [await server.receive_output(timeout=30) for _message in range(4)]
        await server.send_input({"type": "http.disconnect"})
        await server.wait(timeout=30)
        return received

    start, *blocks = async_to_sync(ask)()

    assert start["status"] == 200
    assert all(block["more_body"] for block in blocks)


def test_an_asgi_server_gets_small_dumps_and_failures_too(resource: Resource) -> None:
    async def ask(**parameters: str) -> tuple[int, bytes]:
        response: Any = await AsyncClient().get(build_path(resource), parameters)
        content = [block async for block in response] if response.streaming else [response.content]
        return response.status_code, b"".join(content)

    assert async_to_sync(ask)(fields="code", limit="1") == (200, b"code\n001\n")
    assert async_to_sync(ask)(limit="x")[0] == 409


def keep_records(resource: Resource, number: int) -> None:
    """Delete the records after the first ones, as a write does, and keep their number."""
    run(f"DELETE FROM {{table}} WHERE _id > {number}", resource)
    assert resource.table_version
    TableVersion.objects.filter(pk=resource.table_version.pk).update(record_count=number)
    Resource.objects.filter(pk=resource.pk).update(modified_at=timezone.now())  # another version


def test_a_dump_within_a_transaction_is_a_part_of_it(client: Client, db: None) -> None:
    lines = "".join(f"{n},{'x' * 200}\n" for n in range(2_000))
    resource = make_resource(f"n,text\n{lines}")
    keep_records(resource, 1_500)

    response = dump(client, resource)
    keep_records(resource, 0)

    assert read_ids(response) == list(range(1, 1501))
    assert read_rows(dump(client, resource)) == [["_id", "n", "text"]]

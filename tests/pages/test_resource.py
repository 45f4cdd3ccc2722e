"""The data page: its table, search, filters and permissions."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db.utils import OperationalError
from django.template.loader import render_to_string
from django.test import Client

from datastore_search.filters.names import quote_name
from datastore_search.guards.shares import StreamSlot
from datastore_search.models import Field, Resource
from datastore_search.search import StaleVersion

from ..builders import describe, make_resource, make_slow, make_user, make_writer_token
from .parsing import extract_text, parse_table

SCRIPT = "/static/datastore_search/question.js"


def build_path(resource: Resource, locale: str = "en") -> str:
    return f"/{locale}/datastore/{resource.pk}/"


# The table ----------------------------------------------------------------------------------------


def test_the_records_are_shown_in_a_table(client: Client, resource: Resource) -> None:
    table = parse_table(client.get(build_path(resource)))

    assert table[0] == ["No.", "code", "subject", "stage", "title", "amount", "seen"]
    assert table[4] == [
        "4",
        "004",
        "air",
        "active",
        "Chất lượng không khí Hà Nội",
        "–",
        "Jan 1, 2021",
    ]
    assert table[5] == ["5", "005", "survey", "planned", "Running waters of Ha Noi", "7.00", "–"]
    assert len(table) == 7


def test_a_cell_has_sixty_letters_and_leads_to_the_rest(client: Client, db: None) -> None:
    texts = ["a" * 60, "b" * 61, "c" * 5_000_000, f"https://example.org/{'d' * 100}"]
    resource = make_resource("n,text\n" + "".join(f"1,{text}\n" for text in texts))

    page = client.get(build_path(resource)).content.decode()

    assert len(page) < 20_000
    records = page.partition("</table>")[0]
    assert [records.count(letter * 60) for letter in "abc"] == [1, 1, 1]
    assert [f"{letter * 60}…" in page for letter in "abc"] == [False, True, True]
    assert f'<a href="{texts[3]}" rel="nofollow noopener">{texts[3][:60]}</a>…' in page
    assert page.count(" <small>more</small></a>") == 3
    StreamSlot().release()  # the page does not hold one


def test_each_type_is_shown_as_it_was_loaded(client: Client, db: None) -> None:
    resource = make_resource(
        "big,number,double,truth,day,moment,hour,doc,list\n"
        "9223372036854775807,1200.50,1e300,true,2020-02-29,2020-02-29T23:59:00.000,08:30:00,"
        '"{""a"": [1.50, null, ""<b>""]}","[""x"", ""y""]"\n',
        types={"double": "float8", "doc": "json", "list": "_text", "moment": "timestamp"},
    )

    assert parse_table(client.get(build_path(resource)))[1] == [
        "1",
        "9,223,372,036,854,775,807",
        "1,200.50",
        "1e+300",
        "yes",
        "Feb 29, 2020",
        "Feb 29, 2020 23:59:00",
        "08:30:00",
        '{"a": [1.50, null, "<b>"]}',
        '["x", "y"]',
    ]


def test_data_is_never_markup(client: Client, db: None) -> None:
    evil = "<script>alert(1)</script>"
    resource = make_resource(
        f'{evil},"a""b\' %s %(x)s {{{{ 1 }}}}"\n{evil},"{{% now %}}"\n',
        title=evil,
        description=evil,
    )
    Field.objects.filter(resource=resource, position=0).update(label=evil, notes=f'"{evil}')

    query = {"q": evil, f"field.{evil}": evil, "value": evil, "page": evil}
    for parameters in ({}, {"q": "script"}, query, {f"field.{evil}": evil}):
        response = client.get(build_path(resource), parameters, follow=True)
        page = response.content.decode()
        own = {'<script type="application/ld+json">', f'<script src="{SCRIPT}" defer>'}
        assert {*re.findall("<script[^>]*>", page)} <= own
        assert page.count("</script>") <= 2
    assert parse_table(client.get(build_path(resource)))[1] == ["1", evil, "{% now %}"]


# Pages --------------------------------------------------------------------------------------------


@pytest.fixture
def many(db: None) -> Resource:
    return make_resource("n\n" + "".join(f"{n}\n" for n in range(1, 111)))


def test_a_page_has_twenty_five_records_or_another_size(client: Client, many: Resource) -> None:
    path = build_path(many)
    for page, numbers in ((1, range(1, 26)), (2, range(26, 51)), (5, range(101, 111))):
        rows = parse_table(client.get(path, {"page": page}, follow=True))[1:]
        assert [row[0] for row in rows] == [str(number) for number in numbers]

    response = client.get(path, {"limit": "50", "sort": "n", "page": "2"}, follow=True)
    shown = response.content.decode()
    assert len(parse_table(response)) == 1 + 50
    assert re.findall(r'name=set value="limit=(\d+)">', shown) == ["25", "100", "250"]
    assert '<b aria-current="true">50</b>' in shown
    form = shown[shown.index(f'<form method="get" action="{path}">') :]
    assert '<input type="hidden" name="limit" value="50">' in form
    assert 'name="page" type="number" min="1" max="3" value="2"' in form
    first = client.get(path).content.decode()
    assert f'<a href="{path}?page=5">Last</a>' in first
    assert ">First</a>" not in first


def test_the_input_of_a_page_is_a_number_where_a_portal_has_separators(settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    pagination = {"page_count": 1200, "is_exact": True, "number": 1101}

    shown = render_to_string("datastore_search/_pagination.html", {"pagination": pagination})

    assert 'min="1" max="1200" value="1101"' in shown


def test_a_page_that_is_not_there_is_404(client: Client, many: Resource) -> None:
    for page in ("0", "6", "-1", "x", "9" * 15, "9" * 30, "a\0"):
        response = client.get(build_path(many), {"page": page})

        assert response.status_code == 404
        assert "There is no page" in extract_text(response)


# Searching ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", ["x" * 1001, "a\0b"])
def test_a_q_that_cannot_be_searched_is_refused(client: Client, resource: Resource, q: str) -> None:
    response = client.get(build_path(resource), {"q": q})

    assert response.status_code == 400
    assert 'id="q-error" role="alert"' in response.content.decode()
    assert "mammals" not in response.content.decode()


INVALID: list[tuple[str, str, str]] = [
    ("amount", "much", "“much” is not a number."),
    ("seen", "2023-02-30", "“2023-02-30” is not a date. Write it like Dec 31, 2026."),
    ("truth", "maybe", "“maybe” is neither yes nor no."),
    ("code", "a\0b", "The text contains a character that cannot be stored."),
    ("list", "x", "“x” is not a valid value for this field."),
]


def test_an_invalid_value_is_reported_next_to_its_field(client: Client, db: None) -> None:
    resource = make_resource(
        'code,amount,seen,truth,list\nsight,1.5,2020-01-01,true,"[""x""]"\n',
        types={"list": "_text"},
    )

    for name, value, part in INVALID:
        response = client.get(build_path(resource), {f"field.{name}": value, "q": "sight"})

        assert response.status_code == 400
        page = response.content.decode()
        field_id = re.search(rf'id="([^"]*)" name="field\.{name}" value="{value}"', page)
        assert field_id
        error = re.search(rf'<p [^>]*id="{field_id[1]}-error" role="alert">(.*?)</p>', page)
        assert error
        assert error[1] == part
        assert f'aria-invalid="true" aria-describedby="{field_id[1]}-error"' in page
        assert "<details open>" in page
        assert "<td class" not in page
        assert " of 1" not in extract_text(response)


REFUSED: list[tuple[str, str]] = [
    ("field.nope=1", "Unknown field: “nope”"),
    ("field._id=1", "Unknown field: “_id”"),
    ("filters={}&filters=[]", "Give one value only."),
    ("filters={", "The parameter “filters” is not valid JSON."),
    ("filters=1", "The parameter “filters” is not valid JSON."),
    (
        r'filters={"title":{"contains":"\u0000"}}',
        "The text contains a character that cannot be stored.",
    ),
    ('filters={"stage":{"like":"a"}}', "Unknown operator “like” on field “stage”."),
    ("sort=nope", "Unknown field: “nope”"),
    ("hide=nope", "Unknown field: “nope”"),
    ("starts.amount=2&empty.code=perhaps", "This condition cannot be used with this field."),
    ("q=a&q=b", "Give one value only."),
    ("&".join(f"contains.title={n}" for n in range(11)), "Filters have more than 10 conditions"),
    ("value=closed", "Choose the field in which to look for the value."),
    ("field=nope&value=closed", "Unknown field: “nope”"),
]


def test_no_parameter_is_ignored(client: Client, resource: Resource) -> None:
    for query, message in REFUSED:
        response = client.get(f"{build_path(resource)}?{query}", follow=True)

        assert response.status_code == 400
        assert message in extract_text(response)


ANY_NAMES = [
    "prefix", "field_order", "default_renderer", "__doc__", "clean", "errors", "q", "page", "field",
    "value", "field.a", "share in %", "it's 50%, \"or so\"", "a=b&c", "tên đẹp", "%(x)s", "{0}",
    "n" * 200, "rank", "_Id", "on", "'", "\\",
]  # fmt: skip


def test_a_field_of_any_name_is_filtered(client: Client, db: None) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([ANY_NAMES, ["red"] * len(ANY_NAMES), ["blue"] * len(ANY_NAMES)])
    resource = make_resource(text.getvalue())

    for name in resource.fields.values_list("name", flat=True):
        shown = {f"field.{name}": "blue", "fields": quote_name(name)}
        response = client.get(build_path(resource), shown)
        by_choice = client.get(build_path(resource), {"field": name, "value": "blue"})
        assert parse_table(response) == [["No.", name], ["2", "blue"]]
        assert parse_qsl(urlsplit(by_choice["Location"]).query) == [(f"field.{name}", "blue")]


def test_the_form_of_many_fields_stays_small(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(100)]
    resource = make_resource(f"{','.join(names)}\n{','.join(map(str, range(100)))}\n")

    page = client.get(build_path(resource), {"field.f99": "99"}).content.decode()

    form = page.partition("datastore-search")[2].partition("</form>")[0]
    assert len(re.findall(r'name="(from|to)\.', form)) == 36
    assert '<input type="hidden" name="field.f99" value="99">' in form
    assert len(re.findall(r"<option>f\d", form)) == 100


# Who may see it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("signed_in", [False, True])
def test_a_private_resource_is_403_and_discloses_nothing(
    client: Client, db: None, signed_in: bool
) -> None:
    resource = make_resource(
        "salary\n123456\n", name="hidden", title="Hidden", description="secret", private=True
    )
    Field.objects.update(label="wages", notes="monthly")
    token = {"Authorization": make_writer_token()}  # it does not open pages
    if signed_in:
        client.force_login(make_user())

    for query in ("", "q=1", "field.salary=x", "field.nope=x", "page=9", "q="):
        response = client.get(f"{build_path(resource)}?{query}", headers=token)

        assert response.status_code == 403
        assert "This resource is private" in extract_text(response)
        # What was sent leads back.
        page = re.sub(r"\?next=[^\"]*|<input type=\"hidden\"[^>]*>", "", response.content.decode())
        for word in ("salary", "123456", "idden", "secret", "wages", "monthly", "numeric", "int4"):
            assert word not in page
        assert ('href="/en/admin/login/">Sign in</a>' in page) is not signed_in
        assert ("Sign in" in page) is not signed_in
        assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "resource_id", ["b1e00f9c-5551-4d39-ac98-de198a7980bd", "no-id", "5", "../admin"]
)
def test_an_unknown_resource_is_404(client: Client, db: None, resource_id: str) -> None:
    assert client.get(f"/en/datastore/{resource_id}/").status_code == 404


# Failures -----------------------------------------------------------------------------------------


def test_a_slow_search_is_ended(client: Client, resource: Resource, settings: Any) -> None:
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)

    response = client.get(build_path(resource), {"q": "river"})

    assert response.status_code == 503
    assert "The search took too long." in extract_text(response)

    response = client.get(build_path(resource))

    assert response.status_code == 503
    assert "The records could not be read in time." in extract_text(response)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StaleVersion(), "The resource is being replaced again and again."),
        (OperationalError("secret of the server"), "The database cannot be reached."),
    ],
)
def test_a_transient_error_is_503(
    client: Client,
    resource: Resource,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    message: str,
) -> None:
    def raise_error(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr("datastore_search.contrib.pages.records.read_answer", raise_error)

    response = client.get(build_path(resource))

    assert response.status_code == 503
    assert message in extract_text(response)
    assert "secret" not in extract_text(response)


def test_a_page_says_where_its_data_come_from(client: Client, resource: Resource) -> None:
    describe(
        resource,
        license="CC-BY-4.0",
        source="https://example.org/a?b=1&c=<2>",
        publisher="Office <of> Water",
        contact="Ann",
        contact_email="ann@example.org",
        tags=["water", "a,b"],
        temporal_start="2019-01-31",
        spatial="Hu\u202eế",
    )

    page = client.get(f"{build_path(resource)}about/").content.decode()

    about = page.partition("datastore-record")[2].partition("</dl>")[0]
    texts = re.findall(r"<dt>(.*?)</dt><dd>(?:<a href=\"([^\"]*)\"[^>]*>)?<bdi>(.*?)</bdi>", about)
    assert [(link, text) for _label, link, text in texts] == [
        ("https://creativecommons.org/licenses/by/4.0/", "Creative Commons Attribution 4.0"),
        ("https://example.org/a?b=1&amp;c=&lt;2&gt;",) * 2,
        ("", "Office &lt;of&gt; Water"),
        ("mailto:ann@example.org", "Ann"),
        ("", "water, a,b"),
        ("", "January 31, 2019"),
        ("", "Hu‹U+202E›ế"),
    ]
    arabic = client.get(f"{build_path(resource).replace('/en/', '/ar/')}about/").content.decode()
    assert "water، a,b</bdi>" in arabic
    assert "31 يناير 2019</bdi>" in arabic


@pytest.mark.parametrize(
    ("stated", "missing"),
    [
        ({}, "No licence is stated. No contact is stated. No date is stated."),
        ({"license": "CC0-1.0", "version_date": "2024-05-01"}, "No contact is stated."),
        ({"license": "CC0-1.0", "contact": "Ann"}, "No date is stated."),
        ({"license": "CC0-1.0", "contact_email": "a@b.org", "temporal_end": "2024-05-01"}, ""),
    ],
)
def test_what_is_not_stated_is_said(
    client: Client, resource: Resource, stated: dict[str, str], missing: str
) -> None:
    if stated:
        describe(resource, **stated)

    page = client.get(f"{build_path(resource)}about/").content.decode()

    found = re.findall('<p class="datastore-muted">([^<]*stated[^<]*)</p>', page)
    assert "".join(found).strip() == missing

"""The table of a data page: headings, columns, cells, and the links to other pages."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.contrib.pages.columns import build_columns
from datastore_search.contrib.pages.records import find_link_target
from datastore_search.contrib.pages.values import format_number
from datastore_search.messages.texts import format_count, show_bidi_controls
from datastore_search.models import Resource
from datastore_search.search import with_consistent_read

from ..builders import make_resource
from ..files.builders import make_loaded_resource
from .parsing import extract_text, list_drawn_links, open_page, parse_table


def list_headings(page: str) -> dict[str, tuple[str, str, str]]:
    """Return ``aria-sort``, what the button sets and the type of each heading, by its label."""
    pattern = (
        r'<th scope=col(?: class=\w)?(?: aria-sort="(\w+)")?>'
        r'(?:<button form=ask name=set value="([^"]*)">)?'
        r"<bdi>(.*?)</bdi>(?:</button>)?<details name=menu><summary>more</summary><ul><li>"
        r"<small>([\w ]*)"
    )
    return {
        label: (order, html.unescape(change), kind)
        for order, change, label, kind in re.findall(pattern, page)
    }


def list_menu(page: str, label: str) -> dict[str, str]:
    """Return what the buttons of a column's menu set, or where they lead, by their texts."""
    menu = re.search(rf"<bdi>{label}</bdi></button><details name=menu>(.*?)</details>", page)
    assert menu
    buttons = re.findall(r'<button form=ask [^"]*"([^"]*)">([^<]*)</button>', menu[1])
    return {text: html.unescape(change) for change, text in buttons}


# Names --------------------------------------------------------------------------------------------


def test_the_name_of_a_record_leads_to_its_page(client: Client, db: None) -> None:
    resource = make_loaded_resource("kind,name,site\nsea,<b>,https://a.example\nsea,,\nsea,c,\n")
    resource.fields.filter(name="name").update(extra_info={"is_name": True})
    page = open_page(client, resource, {"sort": "kind"})

    assert '<td class=h><a href="r/1/?sort=kind&amp;at=1">&lt;b&gt;</a>' in page
    assert re.search(r'<th scope=row>1<td class=s data-l="kind"><i>sea</i><td class=h>', page)
    assert '<th scope=row><a href="r/2/?sort=kind&amp;at=2">2</a>' in page
    assert '<td class="e h">–' in page
    assert "<th scope=col class=h>" in page

    resource.fields.filter(name="name").update(extra_info={})
    resource.fields.filter(name="site").update(extra_info={"is_name": True})
    page = open_page(client, resource)
    assert '<th scope=row><a href="r/1/?at=1">1</a>' in page
    assert '<td class=h><a href="https://a.example" rel="nofollow noopener">' in page


def test_a_table_without_names_has_its_first_text_pinned(client: Client, db: None) -> None:
    page = open_page(client, make_loaded_resource("n,kind,note\n1,sea,a\n2,sea,a\n3,,a\n"))

    assert page.count("class=p") == 3
    assert '<th scope=col class=p><button form=ask name=set value="sort=kind">' in page
    assert '<td class=p data-l="kind"><i>sea</i>' in page
    assert '<td class="e p">–' in page


def test_the_cells_of_fields_that_sort_have_a_class_for_narrow_screens(
    client: Client, db: None
) -> None:
    resource = make_loaded_resource("name,n,kind\na,1,x\nb,2,y\n")
    page = open_page(client, resource, {"sort": "n desc,name"})

    assert re.findall(r"<td (class=\w)", page) == ["class=h", "class=s"] * 2


# Headings -----------------------------------------------------------------------------------------


def test_a_heading_describes_its_field_on_hover_and_in_its_menu(client: Client, db: None) -> None:
    resource = make_loaded_resource("n,name\n1,a\n")
    field = resource.fields.filter(name="n")
    field.update(label="Depth", notes='Below "sea"', extra_info={"unit": "m"})

    page = open_page(client, resource)

    assert '<bdi title="m · Below &quot;sea&quot;">Depth</bdi></button>' in page
    described = "<small>whole number · <bdi>m</bdi><br><bdi>Below &quot;sea&quot;</bdi></small>"
    assert f"<summary>more</summary><ul><li>{described}" in page
    assert "<bdi>name</bdi></button>" in page


@pytest.mark.parametrize(
    ("sort", "order", "change"),
    [
        ("", "", "sort=amount"),
        ("amount", "ascending", "sort=amount+desc"),
        ("amount desc", "descending", "sort="),
        ("code", "", "sort=amount"),
    ],
)
def test_a_heading_sorts_up_then_down_then_not(
    client: Client, loaded: Resource, sort: str, order: str, change: str
) -> None:
    headings = list_headings(open_page(client, loaded, {"sort": sort}))

    assert headings["amount"] == (order, change, "number")
    assert [kind for _order, _link, kind in headings.values()] == [
        "text", "text", "text", "text", "number", "date",
    ]  # fmt: skip


def test_the_menu_of_a_column_sets_parameters(client: Client, loaded: Resource) -> None:
    page = open_page(client, loaded, {"q": "river", "first": "code", "hide": "stage"})

    assert list_menu(page, "amount") == {
        "Sort ascending": "sort=amount",
        "Sort descending": "sort=amount+desc",
        "Only empty values": "empty.amount=yes",
        "Without empty values": "empty.amount=no",
        "Move first": "first=amount&first=code",
        "Hide": "hide=stage&hide=amount",
        "Statistics": "about/#about-4",
    }
    form = re.search('<form id="ask" action="[^"]*" hidden>(.*?)</form>', page)
    assert form
    assert re.findall('name="([^"]*)" value="([^"]*)"', form[1]) == [
        ("q", "river"), ("first", "code"), ("hide", "stage"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("q=a&sort=code&set=sort%3Damount%2Bdesc", "?q=a&sort=amount+desc"),
        ("q=a&sort=code&set=sort%3D", "?q=a"),
        ("hide=code&set=hide%3Dcode%26hide%3Dstage&set=", "?hide=code"),
        ("set=hide%3Dcode%26hide%3Dstage", "?hide=code&hide=stage"),
        ("set=set%3Dx", "?set=x"),
        ("field.n=1&field.n=2&set=-field.n%3D1", "?field.n=2"),
        ("q=a&set=-q%3Db%26-x", "?q=a"),
        ("set=%26%3D%26x", ""),
        ("order=amount&sort=code&set=order%3Ddesc", "?sort=amount+desc"),
        ("order=amount&sort=code&set=order%3D", "?sort=amount"),
        ("order=amount&sort=code&set=first%3Dcode", "?sort=code&first=code"),
        ("order=&sort=code&set=order%3Ddesc", ""),
    ],
)
def test_a_button_replaces_parameters_of_its_form(
    client: Client, loaded: Resource, query: str, address: str
) -> None:
    for page in ("", "chart/", "about/"):
        path = f"/en/datastore/{loaded.pk}/{page}"

        assert client.get(f"{path}?{query}")["Location"] == f"{path}{address}"


# Columns ------------------------------------------------------------------------------------------


def test_columns_are_hidden_moved_and_chosen(client: Client, loaded: Resource) -> None:
    def list_columns(query: Any) -> list[str]:
        return list(list_headings(open_page(client, loaded, query)))

    assert list_columns({"hide": ["code", "seen"], "first": "amount"}) == [
        "amount", "subject", "stage", "title",
    ]  # fmt: skip
    assert list_columns({"fields": "_id,stage,code"}) == ["stage", "code"]
    assert list_columns({"fields": "stage,code", "hide": "code"}) == ["stage"]
    page = open_page(client, loaded, {"hide": "code"})
    assert '<li><bdi>Hidden: code</bdi><button form=ask name=set value="-hide=code"' in page
    assert "All columns in their original order" in page


def test_columns_are_checked_in_a_menu(client: Client, loaded: Resource) -> None:
    page = open_page(client, loaded, {"hide": "code"})
    boxes = re.findall('name=shown value="([^"]*)"( checked)?>', page)
    assert [name for name, checked in boxes if not checked] == ["code"]

    def choose(*names: str) -> str:
        query = {"hide": "code", "q": "a", "shown": names, "set": "fields=&hide=&columns="}
        response = client.get(f"/en/datastore/{loaded.pk}/", query)
        return str(response["Location"].partition("?")[2])

    names = [name for name, _checked in boxes]
    assert choose(*names) == choose() == "q=a"
    assert choose(*names[1:]) == f"q=a&hide={names[0]}"
    assert choose(names[2], names[0]) == f"q=a&fields={names[0]}&fields={names[2]}"


def test_so_many_columns_are_shown_at_once(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(1, 46)]
    resource = make_loaded_resource(f"{','.join(names)}\n{','.join('1' * 45)}\n")

    def open_columns(start: str, size: str) -> tuple[list[str], str]:
        page = open_page(client, resource, {"columns": start, "limit": size})
        return list(list_headings(page)), page

    assert [open_columns(start, "25")[0] for start in ("1", "19", "37", "99")] == [
        names[:18], names[18:36], names[36:], names[:18],
    ]  # fmt: skip
    assert [open_columns(start, "250")[0] for start in ("1", "19")] == [names[:13], names[13:26]]
    page = open_columns("19", "25")[1]
    assert "Columns 19–36 of 45" in page
    assert '<button form=ask name=set value="columns=1">Previous columns</button>' in page
    assert '<button form=ask name=set value="columns=37">Next columns</button>' in page
    assert "Next columns" not in open_columns("37", "25")[1]
    about = client.get(f"/en/datastore/{resource.pk}/about/", {"columns": "37"})
    assert about.content.decode().count("<h3>") == 9


def test_the_values_of_a_category_are_tags(client: Client, db: None) -> None:
    rows = "".join(f"{'even' if n % 2 == 0 else 'odd'},name {n},{n % 2}\n" for n in range(30))
    resource = make_loaded_resource(f"kind,name,number\n{rows}")

    page = open_page(client, resource, {"field.kind": "even"})

    assert page.count('<td data-l="kind"><i>even</i>') == 15
    assert len(re.findall("<td[^>]*><i>", page)) == 15
    assert "<i>" not in open_page(client, resource, {"embed": "1"})


# Cells --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "digits", "text"),
    [
        ("en", "2020", "2020"),
        ("en", "-12345.50", "-12,345.50"),
        ("en", "1234567", "1,234,567"),
        ("vi", "1234567", "1.234.567"),
        ("ar", "1234567", "1.234.567"),
        ("de", "1234567", "1.234.567"),
        ("vi", "12345.5", "12.345,5"),
        ("vi", "1234.5", "1.234,5"),
        ("fr", "12345", "12\u00a0345"),
        ("en", "1e+300", "1e+300"),
    ],
)
def test_numbers_are_written_as_the_language_does(language: str, digits: str, text: str) -> None:
    with translation.override(language):
        assert format_number(digits) == text
        for number in (-1234567, 0, 7, 999, 1234567):
            assert format_count(number) == format_number(f"{number}")


def test_the_numbers_of_a_column_have_one_style(client: Client, db: None) -> None:
    resource = make_loaded_resource(
        "people,year,amount,exact,ratio\n7216,1998,1042.6,1.5,0.3333333333333333\n"
        "26727,2005,70833,0.25,1\n-12,,,,\n",
        types={"amount": "numeric", "exact": "numeric", "ratio": "float8"},
    )

    rows = parse_table(client.get(f"/en/datastore/{resource.pk}/"))[1:]

    assert [row[1:] for row in rows] == [
        ["7,216", "1998", "1,042.6", "1.50", "0.3333333333333333"],
        ["26,727", "2005", "70,833.0", "0.25", "1"],
        ["-12", "–", "–", "–", "–"],
    ]


@pytest.mark.parametrize("language", ["en", "vi", "de", "ar"])
def test_numbers_that_name_something_have_no_separators(
    client: Client, db: None, language: str
) -> None:
    header = ["customer_id", "ZIP Code", "Telefon", "year", "date", "population"]
    rows = [["20436.0", "90210", "5551234567", "1900.0", "20201231", "12345"]]
    rows += [["7.0", "10001", "5557654321", "2006.0", "20210131", "54321"]] * 2
    resource = make_loaded_resource("\n".join(",".join(row) for row in [header, *rows]))
    path, group = f"/{language}/datastore/{resource.pk}/", "," if language == "en" else "."
    names = [each.removesuffix(".0") for each in rows[0][:5]]
    amount = f"12{group}345"

    assert parse_table(client.get(path))[1][1:] == [*names, amount]
    query = {f"field.{name}": text for name, text in zip(header, rows[0], strict=True)}
    for address in (path, f"{path}r/1/", f"{path}about/"):
        words = re.findall(r"[\w.,]+", extract_text(client.get(address, query)))
        assert {*names, amount} <= {*words}
        assert not {f"20{group}436", f"1{group}900", f"90{group}210"} & {*words}
    for name, text in zip(header, [*names, amount], strict=True):
        chart = client.get(f"{path}chart/", {"by": "year", "show": "min", "of": name})
        assert parse_table(chart)[1][:2] == ["1900", text]
    links = list_drawn_links(client.get(f"{path}chart/", {"by": "ZIP Code"}))
    address = "../?from.ZIP+Code=90000&to.ZIP+Code=95000&not.ZIP+Code=95000"
    assert links["90000–95000 · 1"] == address


KEYS = [
    *("id", "id_commune", "userId", "OBJECTID", "geonameid", "zip", "zipCode", "Postcode", "PLZ"),
    *("Hausnummer", "Gemeindeschlüssel", "order_number", "S.No.", "Nr", "code_insee", "código"),
    *("Code postal", "Mã tỉnh", "Số điện thoại", "رقم الهاتف", "Phone 1", "téléphone", "Teléfono"),
]
AMOUNTS = [
    *(
        "Number",
        "No",
        "total number",
        "Number of sales",
        "avg_no",
        "paid",
        "bid",
        "cod",
        "field_10",
    ),
    *("population", "Anzahl", "Numero de casos", "cases_number", "code_lines", "price"),
    *("Guests #", "TotalNumber", "CasesNumber", "الرقم القياسي", "رقم الأعمال"),
]


def test_names_and_units_say_which_fields_are_keys(db: None) -> None:
    def list_keys() -> list[str]:
        columns = with_consistent_read(resource.pk, lambda read: build_columns(read.resource))
        return [each.name for each in columns if each.is_key]

    names = [*KEYS, *AMOUNTS]
    resource = make_resource(f"{','.join(names)}\n{','.join(['1'] * len(names))}\n")
    assert list_keys() == KEYS

    Resource.objects.filter(pk=resource.pk).update(primary_key=["price"])
    assert list_keys() == [*KEYS, "price"]

    resource.fields.update(extra_info={"unit": "km"})
    assert list_keys() == []


def test_dates_are_written_as_the_language_does(client: Client, db: None) -> None:
    resource = make_loaded_resource(
        "day,at,zoned\n2020-03-04,2020-03-04T05:06:07,2020-03-04T05:06:07Z\n",
        types={"at": "timestamp", "zoned": "timestamptz"},
    )

    def read_cells(locale: str) -> list[str]:
        return parse_table(client.get(f"/{locale}/datastore/{resource.pk}/"))[1][1:]

    assert read_cells("en") == ["Mar 4, 2020", "Mar 4, 2020 05:06:07", "Mar 4, 2020 05:06:07"]
    assert read_cells("vi") == ["4 thg 3, 2020", "4 thg 3, 2020 05:06:07", "4 thg 3, 2020 05:06:07"]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("https://example.org/a?b=1", "https://example.org/a?b=1"),
        ("HTTP://example.org", "HTTP://example.org"),
        ("ana@example.org", "mailto:ana@example.org"),
        ("see https://example.org", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//example.org", ""),
        ('https://a"onclick=x', ""),
        ("a@b", ""),
        ("a@b.c?subject=x", ""),
    ],
)
def test_whole_addresses_are_links(text: str, target: str) -> None:
    assert find_link_target(text) == target


def test_controls_of_direction_are_visible(client: Client, db: None) -> None:
    assert show_bidi_controls("a\u202eb\u2066c") == "a‹U+202E›b‹U+2066›c"
    resource = make_loaded_resource(
        "na\u202eme\nva\u202elue\n", title="tit\u202ele", description="de\u202escribed"
    )

    page = open_page(client, resource)

    assert "\u202e" not in page[page.index("<h1") : page.index("<form")]
    assert "\u202e" not in page[page.index("<tbody") : page.index("</tbody>")]
    assert "va‹U+202E›lue" in page
    assert "tit‹U+202E›le" in page
    assert "de‹U+202E›scribed" in page
    Resource.objects.update(description="\u202e" + "long " * 100)
    page = open_page(client, resource)
    assert "\u202e" not in page[page.index("<h1") : page.index("<form")]
    assert page.count("<p>‹U+202E›long long") == 1

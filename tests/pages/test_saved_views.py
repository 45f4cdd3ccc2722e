"""Saved views: their actions, their tabs, the first one as a picture, and the form that saves."""

from __future__ import annotations

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html import unescape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from datastore_search.api.parameters import TextField
from datastore_search.contrib.pages.models import MAX_VIEWS, SavedView
from datastore_search.contrib.pages.view_actions import MAX_MEMBERS_BYTES, NewViewMembers
from datastore_search.models import Resource

from ..builders import (
    act,
    check_error,
    get_result,
    make_resource,
    make_token,
    make_user,
    make_user_token,
    make_writer_token,
)
from ..processes import count_waiting_sessions, wait_until
from .parsing import open_page

pytestmark = pytest.mark.django_db

RECORDS = """\
city,year,people,lat,lon
Huế,2020,40,16.46,107.59
Huế,2021,44,16.46,107.59
Vinh,2020,30,18.68,105.69
Vinh,2021,31,18.68,105.69
"""


@pytest.fixture
def cities() -> Resource:
    return make_resource(RECORDS, name="cities", title="Cities")


@pytest.fixture
def token() -> str:
    return make_writer_token()


def save(client: Client, token: str, resource: Resource, **members: Any) -> dict[str, Any]:
    sent = {"resource_id": str(resource.pk), "title": "A view", "view_type": "datatables_view"}
    return get_result(act(client, "resource_view_create", {**sent, **members}, token))


def list_views(client: Client, resource: Resource) -> Any:
    return act(client, "resource_view_list", {"id": str(resource.pk)}).json()["result"]


def list_tabs(html: str) -> list[tuple[str, str, bool]]:
    """List the label and the address of each tab, and whether it is the present one."""
    (nav,) = re.findall(r'<nav class="datastore-tabs".*?</nav>', html, re.DOTALL)
    links = re.findall(r'<li><a href="([^"]*)"( aria-current="page")?>(.*?)</a>', nav)
    return [
        (re.sub("<.*?>", "", label), unescape(link), bool(present))
        for link, present, label in links
    ]


# Actions ------------------------------------------------------------------------------------------


def test_a_view_is_saved_with_the_members_that_ckan_returns(
    client: Client, token: str, cities: Resource
) -> None:
    saved = save(
        client,
        token,
        cities,
        view_type="image_view",
        image_url="http://a/b.png",
        depth={"a": [1.5]},
    )

    assert saved == {
        "id": saved["id"],
        "resource_id": str(cities.pk),
        "title": "A view",
        "description": None,
        "view_type": "image_view",
        "image_url": "http://a/b.png",
        "depth": {"a": [1.5]},
        "package_id": str(cities.pk),
    }
    shown = act(client, "resource_view_show", {"id": saved["id"]})
    assert get_result(shown) == saved
    assert list_views(client, cities) == [saved]


def test_an_update_keeps_texts_and_type_and_replaces_other_members(
    client: Client, token: str, cities: Resource
) -> None:
    saved = save(
        client, token, cities, view_type="webpage_view", description="d", page_url="http://a/"
    )

    changed = act(
        client, "resource_view_update", {**saved, "title": "New", "view_type": "x"}, token
    )
    emptied = act(client, "resource_view_update", {"id": saved["id"]}, token)

    assert get_result(changed) == {**saved, "title": "New"}
    del saved["page_url"]
    assert get_result(emptied) == {**saved, "title": "New"}


def test_the_longest_texts_of_a_view_are_described_as_they_are_accepted() -> None:
    for name, field in NewViewMembers.get_declared().items():
        if isinstance(field, TextField):
            assert field.build_schema()["maxLength"] == field.max_length, name


def test_a_view_follows_one_in_the_last_position(
    client: Client, token: str, cities: Resource
) -> None:
    save(client, token, cities, title="first")
    SavedView.objects.update(position=2**31 - 1)
    save(client, token, cities, title="second")

    assert {each["title"] for each in list_views(client, cities)} == {"first", "second"}


def test_views_are_reordered_and_deleted(client: Client, token: str, cities: Resource) -> None:
    first, second, third = (save(client, token, cities, title=each)["id"] for each in "abc")

    sent = {"id": str(cities.pk), "order": [third, first]}
    ordered = act(client, "resource_view_reorder", sent, token)

    ids = [third, first, second]
    assert get_result(ordered) == {"id": str(cities.pk), "order": ids}
    assert [each["id"] for each in list_views(client, cities)] == ids
    deleted = act(client, "resource_view_delete", {"id": third}, token)
    assert get_result(deleted) == {"resource_id": str(cities.pk)}
    assert [each["id"] for each in list_views(client, cities)] == [first, second]
    check_error(act(client, "resource_view_show", {"id": third}), 404)
    check_error(act(client, "resource_view_delete", {"id": third}, token), 404)


@pytest.mark.parametrize(
    ("action", "sent", "member", "text"),
    [
        ("resource_view_create", {"title": "t"}, "resource_id", "Missing value"),
        ("resource_view_create", {"resource_id": "cities"}, "title", "Missing value"),
        ("resource_view_create", {"resource_id": "cities", "title": "t"}, "view_type", "Missing"),
        ("resource_view_update", {"title": "t"}, "id", "Missing value"),
        ("resource_view_show", {}, "id", "Missing value"),
        ("resource_view_delete", {}, "id", "Missing value"),
        ("resource_view_reorder", {"id": "cities"}, "order", "Missing value"),
        (
            "resource_view_reorder",
            {"id": "cities", "order": ["x"]},
            "order",
            "View x does not exist",
        ),
        ("resource_view_reorder", {"id": "cities", "order": ["x", "x"]}, "order", "No duplicates"),
        (
            "resource_view_create",
            {"resource_id": "cities", "title": "t", "view_type": "x", "own": "a" * 10_001},
            "__extras",
            f"at most {MAX_MEMBERS_BYTES}",
        ),
        (
            "resource_view_create",
            {"resource_id": "cities", "title": "t", "view_type": "x", "own": {"\0": 1}},
            "__extras",
            "must be JSON",
        ),
        (
            "resource_view_create",
            {"resource_id": "cities", "title": "t", "view_type": "x", "query": "a" * 2_001},
            "query",
            "longer than",
        ),
    ],
)
@pytest.mark.usefixtures("cities")
def test_what_cannot_be_saved_is_refused_by_its_name(  # noqa: PLR0913, PLR0917 - a table
    client: Client, token: str, action: str, sent: dict[str, Any], member: str, text: str
) -> None:
    error = check_error(act(client, action, sent, token), 409)

    assert text in str(error[member])
    assert not SavedView.objects.exists()


def test_a_resource_has_a_limited_number_of_views(
    client: Client, token: str, cities: Resource
) -> None:
    SavedView.objects.bulk_create(SavedView(resource=cities, title="t") for _ in range(MAX_VIEWS))

    sent = {"resource_id": "cities", "title": "t", "view_type": "x"}
    error = check_error(act(client, "resource_view_create", sent, token), 409)

    assert error["resource_id"] == [f"A resource has at most {MAX_VIEWS} views."]


@pytest.mark.django_db(transaction=True)
def test_an_id_that_another_request_gives_at_the_same_time_is_refused(
    client: Client, token: str, cities: Resource
) -> None:
    other, view_id = make_resource(name="other"), uuid.uuid4()

    def add_same() -> Any:
        with closing(connection):
            sent = {"resource_id": "cities", "title": "t", "view_type": "x", "id": str(view_id)}
            return act(client, "resource_view_create", sent, token)

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            SavedView.objects.create(id=view_id, resource=other, title="first")
            adding = pool.submit(add_same)
            wait_until(count_waiting_sessions, "the second request", alive=lambda: True)
        error = check_error(adding.result(), 409)

    assert error == {"id": ["Must be a UUID that no other view has."]}
    assert SavedView.objects.get().title == "first"


def test_each_change_of_a_view_gives_the_resource_another_version(
    client: Client, token: str, cities: Resource
) -> None:
    sent = {"resource_id": "cities", "title": "t", "view_type": "text_view"}
    versions, ids = [Resource.objects.get(pk=cities.pk).version], []
    for _ in range(2):
        made = act(client, "resource_view_create", sent, token).json()["result"]
        ids.append(made["id"])
        versions.append(Resource.objects.get(pk=cities.pk).version)
    for action, changed in (
        ("resource_view_update", {"id": ids[0], "title": "u"}),
        ("resource_view_reorder", {"id": "cities", "order": ids[::-1]}),
        ("resource_view_delete", {"id": ids[0]}),
    ):
        assert act(client, action, changed, token).status_code == 200
        versions.append(Resource.objects.get(pk=cities.pk).version)

    assert versions == sorted({*versions})


def test_a_list_of_views_has_an_etag_that_changes_with_them(
    client: Client, token: str, cities: Resource
) -> None:
    address = f"/en/api/3/action/resource_view_list?id={cities.pk}"
    etag = client.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304

    save(client, token, cities)

    assert client.get(address, headers={"If-None-Match": etag}).status_code == 200


def test_views_have_the_permissions_of_their_resource(client: Client, token: str) -> None:
    hidden = make_resource(RECORDS, name="hidden", private=True)
    view = SavedView.objects.create(resource=hidden, title="zq", view_type="datatables_view")
    reader, stranger = make_user_token("zoe", "view"), make_token(make_user("stranger"))
    change = {"id": str(view.pk), "title": "changed"}

    for name, sent in (
        ("resource_view_list", {"id": str(hidden.pk)}),
        ("resource_view_show", {"id": str(view.pk)}),
    ):
        assert "zq" in str(act(client, name, sent, reader).json()["result"])
        for refused in (stranger, ""):
            error = check_error(act(client, name, sent, refused), 403)
            assert str(hidden.pk) not in str(error).replace(sent["id"], "")
    for refused in (reader, ""):
        answer = act(client, "resource_view_update", change, refused)
        check_error(answer, 403)
    unknown = {**change, "id": "5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"}
    answer = act(client, "resource_view_update", unknown, token)
    assert check_error(answer, 404)["message"] == (
        f"Not found: View “{unknown['id']}” was not found."
    )
    view.refresh_from_db()
    assert view.title == "zq"


def test_a_view_of_a_resource_without_records_is_for_those_who_may_change_it(
    client: Client, token: str
) -> None:
    made = act(client, "resource_create", {"name": "planned"}, token).json()["result"]
    sent = {"resource_id": made["id"], "title": "t", "view_type": "text_view"}

    view = get_result(act(client, "resource_view_create", sent, token))

    for action, name in (("resource_view_show", view["id"]), ("resource_view_list", made["id"])):
        assert act(client, action, {"id": name}, token).status_code == 200
        check_error(act(client, action, {"id": name}), 404)


def test_a_view_of_a_published_resource_without_records_is_for_all(
    client: Client, token: str
) -> None:
    """The calls of PUBLISHING's rows 12 and 13."""
    act(client, "package_create", {"name": "shapes", "title": "Shapes"}, token)
    made = act(
        client,
        "resource_create",
        {"package_id": "shapes", "name": "x", "format": "CSV", "url": "http://a/x.csv"},
        token,
    ).json()["result"]
    sent = {"resource_id": made["id"], "view_type": "recline_map_view", "title": "Map"}
    assert act(client, "resource_view_list", {"id": made["id"]}).json()["result"] == []

    view = get_result(act(client, "resource_view_create", sent, token))
    (listed,) = act(client, "resource_view_list", {"id": made["id"]}).json()["result"]
    changed = act(client, "resource_view_update", {**listed, "description": "All"}, token)

    assert view["package_id"] == made["package_id"]
    assert listed == view
    assert get_result(changed) == {**view, "description": "All"}


def test_a_view_goes_with_its_resource(client: Client, token: str, cities: Resource) -> None:
    save(client, token, cities)

    cities.delete()

    assert not SavedView.objects.exists()


# Pages --------------------------------------------------------------------------------------------


def test_views_are_tabs_in_their_order(client: Client, token: str, cities: Resource) -> None:
    save(client, token, cities, title="By <city>", query="field.city=Vinh&sort=people+desc")
    save(
        client, token, cities, title="Growth", view_type="recline_graph_view",
        query="show=sum&of=people&by=year",
    )  # fmt: skip
    save(client, token, cities, title="Kept", view_type="image_view", image_url="http://a/b.png")

    tabs = list_tabs(open_page(client, cities))

    path = f"/en/datastore/{cities.pk}/"
    assert tabs[:3] == [
        ("By &lt;city&gt;", f"{path}?field.city=Vinh&sort=people+desc", False),
        ("Growth", f"{path}chart/?show=sum&of=people&by=year", False),
        ("Table", path, True),
    ]


@pytest.mark.parametrize(
    ("view_type", "members", "path", "pairs"),
    [
        (
            "datatables_view",
            {"filter_fields": ["city"], "filter_values": ["Vinh"], "show_fields": ["city", "year"]},
            "",
            [("field.city", "Vinh"), ("fields", "city"), ("fields", "year")],
        ),
        ("recline_view", {"filter_fields": '["city"]', "filter_values": '["Huế"]'}, "",
         [("field.city", "Huế")]),
        (
            "recline_graph_view",
            {"graph_type": "bars", "group": "city", "series": ["people"]},
            "chart/",
            [("by", "city"), ("of", "people"), ("show", "sum")],
        ),
        (
            "recline_map_view",
            {"map_field_type": "lat_long", "latitude_field": "lat", "longitude_field": "lon"},
            "map/",
            [("lat", "lat"), ("lon", "lon")],
        ),
        ("geojson_view", {}, "map/", []),
    ],
)  # fmt: skip
def test_the_members_of_ckan_are_read_as_a_question(  # noqa: PLR0913, PLR0917 - a table
    client: Client,
    token: str,
    cities: Resource,
    view_type: str,
    members: dict[str, Any],
    path: str,
    pairs: list[tuple[str, str]],
) -> None:
    saved = save(client, token, cities, view_type=view_type, **members)

    (_label, link, _present), *_others = list_tabs(open_page(client, cities))

    assert {name: saved[name] for name in members} == members
    address = urlsplit(link)
    assert address.path == f"/en/datastore/{cities.pk}/{path}"
    assert parse_qsl(address.query) == pairs
    page = client.get(link)
    assert page.status_code == 200
    assert list_tabs(page.content.decode())[0] == ("A view", link, True)


def test_the_page_of_a_view_has_its_description(
    client: Client, token: str, cities: Resource
) -> None:
    save(client, token, cities, query="field.city=Vinh", description="Only <Vinh>.")

    html = open_page(client, cities, {"field.city": "Vinh"})

    assert "Only &lt;Vinh&gt;." in html
    assert list_tabs(html)[0][2]
    assert not list_tabs(open_page(client, cities, {"field.city": "Huế"}))[0][2]


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({"query": "sort=people+desc&fields=city&fields=people"}, 'aria-sort="descending"'),
        ({"view_type": "recline_graph_view", "query": "show=sum&of=people&by=city"}, "Huế · 84"),
        ({"view_type": "recline_map_view"}, "datastore-map"),
        ({"view_type": "compare_view", "query": "compare=year&by=city"}, "<svg"),
    ],
)
def test_the_first_view_is_a_picture_where_nothing_is_asked(
    client: Client, token: str, cities: Resource, members: dict[str, Any], shown: str
) -> None:
    save(client, token, cities, title="First", description="What it says.", **members)

    plain, asked = open_page(client, cities), open_page(client, cities, {"q": "Vinh"})

    (picture,) = re.findall(r'<section class="datastore-first-view.*?</section>', plain, re.DOTALL)
    assert "First" in picture
    assert "What it says." in picture
    assert shown in picture, picture
    assert "datastore-first-view" not in asked


def test_the_picture_of_a_shared_link_is_the_first_view(
    client: Client, token: str, cities: Resource
) -> None:
    query = "show=sum&of=people&by=city"
    save(client, token, cities, view_type="recline_graph_view", query=query)
    path = f"http://testserver/en/datastore/{cities.pk}/chart/"

    def find_picture(address: str) -> str:
        page = client.get(f"/en/datastore/{cities.pk}/{address}").content.decode()
        (picture,) = re.findall('<meta property="og:image" content="([^"]*)">', page)
        return unescape(picture)

    assert find_picture("") == f"{path}?{query}&format=png"
    assert find_picture("?q=Vinh") == f"{path}?q=Vinh&format=png"
    assert find_picture("chart/?by=year") == f"{path}?by=year&format=png"


def test_a_view_of_deleted_fields_shows_what_remains_and_says_so(
    client: Client, token: str, cities: Resource
) -> None:
    query = "field.city=Vinh&field.gone=1&sort=gone&filters=%7B%22lost%22%3A1%7D&hide=year"
    save(client, token, cities, query=query)

    plain = open_page(client, cities)
    _label, link, _present = list_tabs(plain)[0]
    html = client.get(link).content.decode()

    assert parse_qsl(urlsplit(link).query) == [("field.city", "Vinh"), ("hide", "year")]
    message = "The fields have changed since this view was saved. Without effect:"
    for page in (plain, html):
        text = unescape(page)
        assert f'{message} <bdi>field.gone=1, sort=gone, filters={{"lost":1}}</bdi>' in text


def test_a_chart_of_a_deleted_field_proposes_another(
    client: Client, token: str, cities: Resource
) -> None:
    save(client, token, cities, view_type="recline_graph_view", query="show=sum&of=gone&by=city")

    html = open_page(client, cities)

    assert "Without effect: <bdi>of=gone</bdi>" in html
    assert client.get(list_tabs(html)[0][1]).status_code == 200


@pytest.mark.parametrize("query", ["?&&&=", "%00=%00", "embed=1&page=7", "q=" + "a b " * 400])
@pytest.mark.parametrize("view_type", ["datatables_view", "recline_graph_view", "recline_map_view"])
def test_any_question_can_be_saved_and_shown(
    client: Client, token: str, cities: Resource, view_type: str, query: str
) -> None:
    save(client, token, cities, view_type=view_type, query=query)

    html = open_page(client, cities)

    assert client.get(list_tabs(html)[0][1]).status_code == 200


# The admin ----------------------------------------------------------------------------------------


def test_what_is_saved_of_a_chart_is_written_once(client: Client, cities: Resource) -> None:
    client.force_login(make_user("staff", is_staff=True, is_superuser=True))
    query = "field.city=Vinh&show=sum&of=people&by=city"

    page = client.get(f"/en/datastore/{cities.pk}/chart/?{query}").content.decode()

    (link,) = re.findall(r'<a href="([^"]*)">Save this view</a>', page)
    assert parse_qs(urlsplit(unescape(link)).query)["query"] == [query]


def test_staff_save_what_a_page_shows(client: Client, cities: Resource) -> None:
    client.force_login(make_user("staff", is_staff=True, is_superuser=True))
    html = open_page(client, cities, {"field.city": "Vinh", "sort": "people desc"})
    (link,) = re.findall(r'<a href="([^"]*)">Save this view</a>', html)
    address = unescape(link).partition("#")[0]

    form = client.get(address)

    (formset,) = [
        each.formset
        for each in form.context["inline_admin_formsets"]
        if each.formset.model is SavedView
    ]
    (proposed,) = formset.extra_forms
    assert proposed["query"].value() == "field.city=Vinh&sort=people+desc"
    sent: dict[str, Any] = {}
    for each in [form.context["adminform"].form, *(
        inner
        for inline in form.context["inline_admin_formsets"]
        for inner in (inline.formset.management_form, *inline.formset.forms)
    )]:  # fmt: skip
        for name in each.fields:
            value = each[name].value()
            if value is not None and value is not False:
                sent[each[name].html_name] = value
    refused = client.post(address, sent)
    sent[proposed["title"].html_name] = "Vinh alone"
    saved = client.post(address, sent)

    assert "This field is required." in refused.content.decode()  # a view is not lost in silence
    assert saved.status_code == 302, saved.context and saved.context["errors"]
    view = SavedView.objects.get()
    assert (view.title, view.view_type) == ("Vinh alone", "datatables_view")
    assert view.query == "field.city=Vinh&sort=people+desc"
    assert list_tabs(open_page(client, cities))[0][0] == "Vinh alone"


def test_numbers_of_a_saved_view_mean_the_same_in_every_language(
    client: Client, cities: Resource
) -> None:
    client.force_login(make_user("staff", is_staff=True, is_superuser=True))
    typed = {
        "to.people": "1.000",
        "from.year": "2021",
        "empty.lat": "no",
        "show": "sum",
        "page": "2",
    }

    html = client.get(f"/vi/datastore/{cities.pk}/chart/", typed).content.decode()

    (link,) = re.findall(r'<a href="([^"]*view_type=[^"]*)#', html)
    (query,) = parse_qs(urlsplit(unescape(link)).query)["query"]
    assert dict(parse_qsl(query)) == {
        "from.year": "2021",
        "empty.lat": "no",
        "filters": '{"people":{"lte":"1000"}}',
        "show": "sum",
    }


@pytest.mark.parametrize(
    ("view_type", "query"),
    [
        ("datatables_view", "from.lat=16.5&sort=people+desc"),
        ("recline_graph_view", "by=city&from.lat=16.5"),
        ("recline_map_view", ""),
    ],
)
def test_a_view_stays_present_in_another_language(
    client: Client, token: str, cities: Resource, view_type: str, query: str
) -> None:
    save(client, token, cities, view_type=view_type, query=query)
    html = client.get(list_tabs(open_page(client, cities))[0][1]).content.decode()
    (link,) = re.findall(r'<a href="([^"]*)" hreflang="de"', html)

    translated = client.get(unescape(link), follow=True).content.decode()

    assert list_tabs(html)[0][::2] == list_tabs(translated)[0][::2] == ("A view", True)


def test_only_staff_who_may_change_a_resource_can_save_its_views(
    client: Client, cities: Resource
) -> None:
    anonymous = open_page(client, cities)
    client.force_login(make_user("staff", is_staff=True))
    reader = open_page(client, cities)

    assert "Save this view" not in anonymous
    assert "Save this view" not in reader
    page = reverse("admin:datastore_search_resource_change", args=[cities.pk])
    assert client.get(page).status_code == 403

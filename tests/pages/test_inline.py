"""Tables, charts and maps inside a portal's own templates."""

from __future__ import annotations

import html
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.utils import ProgrammingError
from django.http import HttpResponse
from django.template import Context, RequestContext, Template
from django.test import RequestFactory

from datastore_search.contrib.pages.templatetags.datastore import MAX_LIMIT
from datastore_search.models import Resource

from ..builders import make_resource
from .parsing import parse_table

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "embed-tables.md"

#: Of a portal without the pages.
urlpatterns: list[Any] = []


def render_template(text: str, **values: Any) -> str:
    """Render a template of a portal."""
    request = RequestFactory().get("/about/")
    request.user = AnonymousUser()
    return Template(text).render(RequestContext(request, values))


def render(tag: str, **values: Any) -> str:
    return render_template(f"{{% load datastore %}}{{% {tag} %}}", **values)


def get_text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", page))).strip()


def list_rows(page: str) -> list[list[str]]:
    return parse_table(HttpResponse(page))[1:]


# Tables -------------------------------------------------------------------------------------------


def test_a_template_shows_records(resource: Resource) -> None:
    page = render(
        "datastore_table id filters=filters sort='amount desc' fields='code,amount' limit=2",
        id=resource.pk,
        filters={"subject": ["survey", None], "stage": "active"},
    )

    assert list_rows(page) == [["2", "002", "20.25"], ["6", "006", "9.00"]]
    assert '<th scope=col class=n aria-sort="descending"><bdi>amount</bdi>' in page


def test_links_of_a_table_lead_to_the_pages(resource: Resource) -> None:
    page = render("datastore_table id q='river' fields='code'", id=str(resource.pk))

    links = [html.unescape(link) for link in re.findall('<a href="([^"]*)"', page)]
    base = f"/en/datastore/{resource.pk}/"
    assert links == [f"{base}r/1/?q=river&fields=code&at=1", f"{base}?q=river&fields=code"]
    caption = re.search("<caption>(.*?)</caption>", page)
    assert caption
    assert get_text(caption[1]).startswith(f"{resource} · 1–1 of 1 · Search: river")


def test_a_portal_without_the_pages_shows_no_links(db: None, settings: Any) -> None:
    resource = make_resource(f"text\n{'long words ' * 20}\n")
    settings.ROOT_URLCONF = __name__

    for tag in ("datastore_table id", "datastore_chart id by='text'"):
        page = render(tag, id=resource.pk)
        assert "long words" in page
        assert "<a " not in page
    for sites in (make_sites(3), make_sites(501)):
        page = render("datastore_map id", id=sites.pk)
        assert "<svg" in page
        assert "<a " not in page


def test_a_table_has_no_more_records_than_the_limit(resource: Resource) -> None:
    assert len(list_rows(render("datastore_table id limit=4", id=resource.pk))) == 4
    for limit in (0, MAX_LIMIT + 1, "many", None):
        page = render("datastore_table id limit=limit", id=resource.pk, limit=limit)
        assert "The limit must be a whole number from 1 to 250." in get_text(page)


# Charts -------------------------------------------------------------------------------------------


def test_a_template_shows_a_chart(resource: Resource) -> None:
    page = render(
        "datastore_chart id show='sum' of='amount' by='stage' filters=f",
        id=resource.pk,
        f={"subject": "watershed"},
    )

    assert "<svg" in page
    assert "Sum of amount by stage" in get_text(page)
    base = f"/en/datastore/{resource.pk}/"
    links = [html.unescape(link) for link in re.findall('<a href="([^"]*)"', page)]
    question = "filters=%7B%22subject%22%3A%22watershed%22%7D"
    assert f"{base}?{question}&field.stage=active" in links
    assert links[-1] == f"{base}chart/?{question}&show=sum&of=amount&by=stage&per=each"


# Maps ---------------------------------------------------------------------------------------------


def make_sites(count: int) -> Resource:
    """Make a resource of places, of which more than 500 are drawn as clusters."""
    rows = "".join(f"place {n},{10 + n % 7},{100 + n % 11},{n % 2}\n" for n in range(count))
    return make_resource(f"name,lat,lon,kind\n{rows}", title="Sites")


def test_a_template_shows_a_map(db: None) -> None:
    resource = make_sites(4)

    page = render("datastore_map id filters=f title='name'", id=resource.pk, f={"kind": 1})

    assert "Map of Sites" in get_text(page)
    assert "2 of 2 records are on the map." in get_text(page)
    base, question = f"/en/datastore/{resource.pk}/", "?filters=%7B%22kind%22%3A1%7D"
    assert [html.unescape(link) for link in re.findall('<a href="([^"]*)"', page)] == [
        *[f"{base}r/2/{question}", f"{base}r/4/{question}"] * 2,
        f"{base}map/{question}&lat=lat&lon=lon&title=name",
    ]


# What cannot be shown -----------------------------------------------------------------------------


def test_a_template_without_a_request_reads_as_nobody(db: None) -> None:
    private = make_resource("kind\nsecret\n", private=True)
    public = make_resource("kind\nopen\n")
    template = Template("{% load datastore %}{% datastore_table id %}")

    assert "This resource is private." in template.render(Context({"id": private.pk}))
    assert "open" in template.render(Context({"id": public.pk}))


def test_an_absent_resource_is_a_sentence(db: None) -> None:
    for tag in ("datastore_table", "datastore_chart", "datastore_map"):
        for name in (str(uuid.UUID(int=1)), "no such name", "", None, "x\0"):
            assert get_text(render(f"{tag} id", id=name)) == (
                "There is no such resource, or nothing has been loaded into it yet."
            )


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("datastore_table id fields='nope'", "Unknown field: “nope”"),
        ("datastore_table id sort='nope'", "Unknown field: “nope”"),
        ("datastore_table id filters='{'", "The parameter “filters” is not valid JSON."),
        ("datastore_table id filters=long", "This address is too long."),
        ("datastore_chart id by='nope'", "cannot have by=nope. Possible: "),
        ("datastore_chart id q=long", "This address is too long."),
        ("datastore_map id lat='code' lon='nope'", "Unknown field: “code”"),
        ("datastore_map id filters='{'", "The parameter “filters” is not valid JSON."),
        ("datastore_map id q=long", "This address is too long."),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(resource: Resource, tag: str, text: str) -> None:
    assert text in get_text(render(tag, id=resource.pk, long="x" * 70_000))


def test_an_unexpected_error_of_the_database_leaves_the_page(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def raise_error(*_args: Any) -> None:
        raise ProgrammingError("secret words")

    monkeypatch.setattr("datastore_search.contrib.pages.records.read_answer", raise_error)

    assert get_text(render("datastore_table id", id=resource.pk)) == "The records cannot be shown."
    settings.DEBUG = True
    with pytest.raises(ProgrammingError):
        render("datastore_table id", id=resource.pk)


def test_the_template_of_the_documentation_is_shown(db: None) -> None:
    make_resource(title="Survey").aliases.create(name="river-survey")
    make_sites(3).aliases.create(name="sites")
    blocks = HOW_TO.read_text(encoding="utf-8").split("```")[1::2]
    (example,) = (each for each in blocks if "river-survey" in each)
    page = render_template(example.removeprefix("html"))

    assert list_rows(page) == [
        ["1", "River level at the old bridge", "10.50"],
        ["3", "Mực nước sông Hồng", "0.00"],
    ]
    assert "Sum of amount by stage" in page
    assert "Map of Sites" in page

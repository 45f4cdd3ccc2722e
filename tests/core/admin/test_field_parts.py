"""Forms of resources with more fields than a request may have inputs."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client, RequestFactory

from datastore_search.admin.forms import get_shown_rows, split_fields
from datastore_search.field_types import MAX_FIELDS
from datastore_search.models import Resource

from ...builders import make_resource
from ...files.admin.forms import FORM, make_file
from .test_resources import LIST, build_form

COUNT = 600

#: Django's own limit.
MAX_INPUTS = 1_000


@pytest.fixture
def wide(staff: Client, monkeypatch: pytest.MonkeyPatch) -> Resource:
    """A resource of many fields, whose first and last have labels and translations."""
    monkeypatch.setattr(settings, "DATA_UPLOAD_MAX_NUMBER_FIELDS", MAX_INPUTS)
    names = [f"f{number}" for number in range(COUNT)]
    resource = make_resource(f"{','.join(names)}\n{','.join('1' * COUNT)}\n")
    resource.fields.filter(name__in=("f0", "f599")).update(
        label="Old", notes="Old", translations={"fr": {"label": "Vieux"}}
    )
    return resource


def read_inputs(page: str) -> dict[str, str]:
    """Read what a form sends as it is shown, without its buttons."""
    form = page[page.index("<form", page.index('id="content-main"')) :]
    inputs = {
        name: value
        for tag in re.findall(r"<input [^>]*>", form)
        if not re.search(r'type="(submit|checkbox|radio)"', tag)
        for name in re.findall(r'name="([^"]*)"', tag)
        for value in re.findall(r'value="([^"]*)"', tag) or [""]
    }
    areas = re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>\n?([^<]*)</textarea>', form)
    return {**inputs, **dict(areas)}


def get_labels(resource: Resource) -> dict[str, str]:
    return dict(resource.fields.exclude(label="").values_list("name", "label"))


@pytest.mark.slow
def test_a_wide_resource_is_edited_in_parts_and_nothing_is_lost(
    staff: Client, wide: Resource
) -> None:
    address = f"{LIST}{wide.pk}/change/"
    page = staff.get(address).content.decode()
    parts = re.findall(r'<a href="(\?part=\d+)"( aria-current="page")?>([^<]*)</a>', page)
    assert [(link, text) for link, _current, text in parts] == [
        ("?part=1", "Fields 1 to 114"),
        ("?part=2", "Fields 115 to 228"),
        ("?part=3", "Fields 229 to 342"),
        ("?part=4", "Fields 343 to 456"),
        ("?part=5", "Fields 457 to 570"),
        ("?part=6", "Fields 571 to 600"),
    ]
    assert [bool(current) for _link, current, _text in parts] == [True, *[False] * 5]

    last = read_inputs(staff.get(f"{address}?part=6").content.decode())
    assert len(last) < MAX_INPUTS
    sent = {**build_form(), **last, "title": "Wide", "fields-0-label": "New"}
    response = staff.post(f"{address}?part=6", sent)

    assert response.status_code == 302
    assert get_labels(wide) == {"f0": "Old", "f570": "New", "f599": "Old"}
    assert wide.fields.get(name="f0").translations == {"fr": {"label": "Vieux"}}


def test_a_wide_resource_is_translated_in_parts_and_nothing_is_lost(
    staff: Client, wide: Resource
) -> None:
    address = f"{LIST}{wide.pk}/texts/fr/"
    inputs = read_inputs(staff.get(f"{address}?part=2").content.decode())
    key = wide.fields.get(name="f599").pk
    assert len(inputs) < MAX_INPUTS
    assert inputs[f"label-{key}"] == "Vieux"

    response = staff.post(f"{address}?part=2", {**inputs, f"notes-{key}": "Notes"})

    assert response.headers["Location"] == f"{address}?part=2"
    assert dict(wide.fields.exclude(translations={}).values_list("name", "translations")) == {
        "f0": {"fr": {"label": "Vieux"}},
        "f599": {"fr": {"label": "Vieux", "notes": "Notes"}},
    }


@pytest.mark.slow
def test_a_wide_draft_is_previewed_in_parts_and_keeps_every_type(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_UPLOAD_MAX_NUMBER_FIELDS", MAX_INPUTS)
    names = [f"f{number}" for number in range(MAX_FIELDS)]
    resource = make_resource("f0\n1\n", name="wide")
    text = f"{','.join(names)}\n{','.join('7' * MAX_FIELDS)}\n"
    given = staff.post(f"{LIST}{resource.pk}/load/", {**FORM, "file": make_file(text)})
    address = given["Location"]
    first, last = (staff.get(address, {"part": part}).content.decode() for part in ("1", "4"))
    assert "Fields 1201 to 1600" in first
    assert f"<dd>{MAX_FIELDS}</dd>" in first
    assert re.findall(r'name="type_(\d+)"', first) == [str(number) for number in range(400)]
    assert re.findall(r'name="type_(\d+)"', last) == [str(n) for n in range(1_200, 1_600)]

    again = {**read_inputs(first), "bad_rows": "refuse", "type_0": "text", "again": "1"}
    answer = staff.post(f"{address}?part=1", again)
    assert answer["Location"] == f"{address}?part=1"
    chosen = staff.get(address).content.decode()
    sent = {**read_inputs(chosen), "bad_rows": "refuse", "type_1599": "text", "load": "1"}
    assert staff.post(f"{address}?part=4", sent).status_code == 302

    types = dict(resource.fields.values_list("name", "type"))
    assert len(types) == MAX_FIELDS
    assert (types["f0"], types["f1"], types["f1599"]) == ("text", "int4", "text")


@pytest.mark.parametrize(
    ("most", "count", "query", "shown"),
    [
        (MAX_INPUTS, COUNT, "2", slice(160, 320)),
        (MAX_INPUTS, COUNT, "9", slice(480, 600)),
        (MAX_INPUTS, COUNT, "x", slice(0, 160)),
        (MAX_INPUTS, COUNT, "9" * 99, slice(480, 600)),
        # All fields are on one page where they fit.
        (None, 400, "", slice(0, 400)),
        (20_000, 400, "", slice(0, 400)),
        (1_000, 160, "", slice(0, 160)),
        (1_000, 0, "", slice(0, 0)),
    ],
)
def test_any_number_of_a_part_is_understood(
    monkeypatch: pytest.MonkeyPatch, most: int | None, count: int, query: str, shown: slice
) -> None:
    monkeypatch.setattr(settings, "DATA_UPLOAD_MAX_NUMBER_FIELDS", most)

    part = split_fields(RequestFactory().get("/", {"part": query} if query else {}), count, 5)

    assert get_shown_rows(part) == shown
    assert part.has_other_pages() == (count == COUNT)

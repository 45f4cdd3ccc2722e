"""The table of options: every entrance offers each option of a load, and takes its value."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.management.base import CommandParser
from django.test import Client
from django.utils.html import escape

from datastore_search.contrib.files.admin.drafts import build_preview_context
from datastore_search.contrib.files.admin.forms import LoadForm, PreviewForm, build_input
from datastore_search.contrib.files.formats.options import Kind, Option, ReadOptions
from datastore_search.contrib.files.jobs import LoadOptions, resolve_options, submit_load
from datastore_search.contrib.files.management.commands.load_resource import (
    Command,
    add_load_arguments,
    build_load_options,
    describe_option,
    name_argument,
)
from datastore_search.contrib.files.messages import Message
from datastore_search.contrib.files.messages.catalogue import TEMPLATES
from datastore_search.contrib.files.types.options import load_options
from datastore_search.models import Resource

from .admin.forms import FORM, make_file
from .builders import fails_with

REFERENCE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "commands.md"

SCHEMA = {"fields": [{"name": "a", "type": "string"}]}
OF_KIND: dict[Kind, Any] = {
    Kind.TEXT: "some",
    Kind.TEXTS: ("a", "b"),
    Kind.PAIRS: {"a": "text"},
    Kind.NUMBER: 2,
    Kind.JSON: SCHEMA,
    Kind.FLAG: True,
}
#: The values of options that take no text but such a one.
SAMPLES = {"cell_range": "A1:D20"}

UPLOADED = [name for name, option in load_options.items() if option.is_in_upload]
PREVIEWED = [name for name, option in load_options.items() if option.is_in_preview]
OFFERED = [
    (name, code, offer)
    for name, option in load_options.items()
    for code, offer in option.offers.items()
]


def get_sample(name: str) -> Any:
    option = load_options[name]
    return SAMPLES.get(name) or next(reversed(option.choices), OF_KIND[option.kind])


def make_options(name: str, value: Any = None) -> LoadOptions:
    return LoadOptions(**{name: value or get_sample(name)})


def write_input(value: Any) -> Any:
    """Write a value as a browser sends it."""
    if isinstance(value, tuple):
        return "\r\n".join(value)
    return make_file(json.dumps(value), "schema.json") if isinstance(value, dict) else value


@pytest.mark.parametrize("name", UPLOADED)
def test_the_form_of_an_upload_takes_it(empty: Resource, name: str) -> None:
    sent = {**FORM, "url": "https://data.example/a.csv", name: write_input(get_sample(name))}
    form = LoadForm(empty, LoadOptions(), sent, {name: sent[name]})

    assert form.is_valid(), form.errors
    assert form.build_options() == replace(make_options(name), ignore_saved=True)
    kept = LoadForm(empty, make_options(name))
    assert str(load_options[name].label) in [field.label for field in kept]
    assert kept.initial.get(name, SCHEMA) == get_sample(name)


def test_the_page_of_an_upload_shows_each(staff: Client, empty: Resource) -> None:
    address = f"/en/admin/datastore_search/resource/{empty.pk}/load/"

    page = staff.get(address).content.decode()

    for name in UPLOADED:
        texts = (load_options[name].label, load_options[name].help)
        assert all(escape(str(text)) in page for text in texts), name
        assert f'name="{name}"' in page


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.TEXTS])
def test_the_help_of_an_option_may_have_any_letters(
    monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    option, parser = Option(label="L", help="5 % <b>of</b> it.", kind=kind), CommandParser()
    monkeypatch.setitem(cast("dict[str, Option]", load_options), "some", option)
    add_load_arguments(parser)

    assert str(build_input(option).help_text).startswith("5 % &lt;b&gt;of&lt;/b&gt; it.")
    assert "5 % <b>of</b> it." in parser.format_help()


@pytest.mark.parametrize("name", PREVIEWED)
def test_the_form_of_a_preview_takes_it(name: str) -> None:
    sample = get_sample(name)

    form = PreviewForm(LoadOptions(), ["a"], {"bad_rows": "refuse", "type_0": "", name: sample})

    assert form.is_valid(), form.errors
    assert form.build_options() == make_options(name)


def test_the_preview_chooses_the_types_of_fields() -> None:
    form = PreviewForm(LoadOptions(), ["a"], {"bad_rows": "refuse", "type_0": "text"})

    assert form.is_valid()
    assert form.build_options() == make_options("types")


@pytest.mark.parametrize(("name", "code", "offer"), OFFERED)
def test_the_preview_offers_what_a_message_names(name: str, code: str, offer: Any) -> None:
    listed = "“big5” (A, b), “utf-8” (C, d)" if "words" in offer.pattern else "“2”"
    parameters = dict.fromkeys(re.findall(r"%\((\w+)\)s", str(TEMPLATES[code])), "5")
    message = Message(code, **parameters | ({offer.parameter: listed} if offer.parameter else {}))
    kept = {"notices": [message.to_json()]}

    offers = build_preview_context(kept)["offers"]

    assert code in TEMPLATES
    assert {each.option for each in offers} == {name}
    assert all(each.label and "%(" not in each.label for each in offers)
    assert resolve_options(None, make_options(name, offers[-1].value)) is not None


@pytest.mark.parametrize("name", load_options)
def test_the_command_takes_it(tmp_path: Path, name: str) -> None:
    option, value = load_options[name], get_sample(name)
    flag, *metavar = name_argument(name, option).split()
    values = value if isinstance(value, tuple) else [value]
    if option.kind is Kind.JSON:
        values = [tmp_path / "schema.json"]
        values[0].write_text(json.dumps(value))
    elif option.kind is Kind.PAIRS:
        values = [f"{field}={text}" for field, text in value.items()]
    words = [word for each in values for word in [flag, *([str(each)] if metavar else [])]]
    parser = Command().create_parser("manage.py", "load_resource")

    assert build_load_options(vars(parser.parse_args(["a.csv", *words]))) == make_options(name)
    assert describe_option(option)[:20] in " ".join(parser.format_help().split())


@pytest.mark.parametrize("name", load_options)
def test_the_reference_describes_it(name: str) -> None:
    reference = REFERENCE.read_text(encoding="utf-8")

    assert f"| `{name_argument(name, load_options[name])}` | " in reference


@pytest.mark.parametrize("name", load_options)
def test_a_program_gives_it_and_a_load_keeps_it(empty: Resource, name: str) -> None:
    options = make_options(name)

    load = submit_load(empty, url="https://data.example/a.csv", options=options)

    load.refresh_from_db()
    assert LoadOptions.from_json(load.options) == options
    assert resolve_options(empty, options) is not None
    read = ReadOptions.from_json(json.loads(json.dumps(options.to_json())))
    assert getattr(read, name, get_sample(name)) == get_sample(name)


@pytest.mark.parametrize("name", load_options)
def test_it_is_kept_for_the_next_load_or_is_not(empty: Resource, name: str) -> None:
    option = load_options[name]
    empty.options = make_options(name).to_json()

    resolved = resolve_options(empty, LoadOptions())

    is_kept = option.is_saved and option.kind is not Kind.PAIRS
    assert (getattr(resolved, name) == get_sample(name)) == is_kept
    assert ("Kept for the next loads." in describe_option(option)) == option.is_saved


@pytest.mark.parametrize(
    "name", [name for name, option in load_options.items() if option.choices and not option.is_open]
)
def test_a_value_that_is_no_choice_is_refused(name: str) -> None:
    with fails_with("option.unknown_choice"):
        resolve_options(None, make_options(name, "klingon"))

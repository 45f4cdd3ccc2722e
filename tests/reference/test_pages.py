"""The pages of the reference: all of the API, in every language, small and without script."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import include, path
from django.utils import translation

from datastore_search.api.analysis_parameters import OptionsListField
from datastore_search.api.envelope import ERROR_TYPES
from datastore_search.api.parameter_descriptions import describe_parameters
from datastore_search.api.parameters import ActionParameters
from datastore_search.filters.grammar import OPERATORS
from datastore_search.reference.examples import select_examples
from datastore_search.reference.operations import OPERATIONS
from datastore_search.urls import page_urlpatterns

LOCALES = ("ar", "de", "es", "fr", "pt_BR", "vi")
MAX_PAGE_BYTES = 60_000

#: The texts of a page, one on each line.
WRITING_PAGE = Path(__file__).with_name("datastore_records_delete.de.txt")

PRE = re.compile(r'<pre dir="ltr" tabindex="0"><code>(.*?)</code></pre>', re.DOTALL)
ID = re.compile(r'<\w+ id="([^"]*)"')


def get(locale: str, page: str = "") -> str:
    response = Client().get(f"/{locale}/datastore/api/{page}")
    assert response.status_code == 200
    assert response["Content-Language"].lower() == locale.replace("_", "-").lower()
    return response.content.decode()


def get_main(page: str) -> str:
    """The content of a page without the blanks at the ends of lines."""
    content = page.partition('tabindex="-1">')[2].partition("</main>")[0]
    return "\n".join(filter(None, (line.strip() for line in content.splitlines())))


def list_tables(parameters: type[ActionParameters]) -> Iterator[tuple[str, type[ActionParameters]]]:
    """The parameters of an action, and the options of those that have some, with their ids."""
    yield "", parameters
    fields: Mapping[str, Any] = parameters().get_fields()
    for name, field in fields.items():
        if isinstance(field, OptionsListField):
            yield f"{name}-", field.options


def list_pages() -> list[str]:
    return ["", *(f"{name}/" for name in OPERATIONS)]


# Two whole pages ----------------------------------------------------------------------------------


def test_the_page_of_help_show() -> None:
    errors = {
        400: "The request cannot be read, or there is no such action.",
        403: "The user may not do this, or no valid token was sent.",
        404: "There is no such resource, or it holds no table.",
        405: "This address does not answer that method.",
        409: "Parameters are missing, unknown or wrong, or the search took too long.",
        413: "The body or the query string is larger than the portal allows.",
        415: "The body is neither a form nor JSON.",
        429: 'The portal limits requests; <code dir="ltr">Retry-After</code> is the number of'
        " seconds to wait.",
        500: "An error of the server; its log has the details.",
        503: "The portal is busy, or the database cannot be reached; ask again later.",
    }
    rows = "\n".join(
        f'<div><dt><a href="/en/datastore/api/#error-{status}">{status}</a></dt>'
        f"<dd>{text}</dd></div>"
        for status, text in errors.items()
    )

    assert get_main(get("en", "help_show/")) == (
        '<p><a href="/en/datastore/api/">API reference</a></p>\n'
        '<h1><code dir="ltr">help_show</code></h1>\n'
        "<p>Describe an action.</p>\n"
        '<pre dir="ltr" tabindex="0"><code>GET, POST /en/api/3/action/help_show</code></pre>\n'
        "<p>Public resources need no API token.</p>\n"
        "<ul>\n"
        '<li><a href="#parameters">Parameters</a></li>\n'
        '<li><a href="#example">Example</a></li>\n'
        '<li><a href="#errors">Errors</a></li>\n'
        "</ul>\n"
        '<h2 id="parameters">Parameters</h2>\n'
        '<dl class="datastore-record">\n'
        '<div id="name"><dt><code dir="ltr">name</code><small>text</small></dt>'
        "<dd>The name of an action. Required. At most 200 characters.</dd></div>\n"
        "</dl>\n"
        '<h2 id="example">Example</h2>\n'
        '<pre dir="ltr" tabindex="0"><code>'
        "curl https://portal.example.org/en/api/3/action/help_show \\\n"
        "-d &#x27;{\n"
        "&quot;name&quot;: &quot;datastore_search&quot;\n"
        "}&#x27;</code></pre>\n"
        "<h3>The answer</h3>\n"
        '<pre dir="ltr" tabindex="0"><code>{\n'
        "&quot;help&quot;: &quot;https://portal.example.org/en/api/3/action/help_show?name=help_show"
        "&quot;,\n"
        "&quot;success&quot;: true,\n"
        "&quot;result&quot;: &quot;Search the records of a resource.&quot;\n"
        "}</code></pre>\n"
        '<h2 id="errors">Errors</h2>\n'
        f'<dl class="datastore-record">\n{rows}\n</dl>'
    )


def test_the_page_of_an_action_that_writes_in_another_language() -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "\n", get_main(get("de", "datastore_records_delete/"))))

    lines = "\n".join(filter(None, (line.strip() for line in text.splitlines())))
    assert lines == WRITING_PAGE.read_text(encoding="utf-8").strip()


# Everything is there ------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", ["en", *LOCALES])
def test_every_action_has_its_page_with_every_parameter_in_the_language(locale: str) -> None:
    index = get(locale)

    for name, operation in OPERATIONS.items():
        assert f'<a href="{name}/"><code dir="ltr">{name}</code></a>' in index
        page = get(locale, f"{name}/")
        text = html.unescape(re.sub(r"</?code[^>]*>", "", page))
        with translation.override(locale.replace("_", "-").lower()):
            assert str(operation.summary) in text
            for prefix, parameters in list_tables(operation.parameters):
                for each in describe_parameters(parameters):
                    assert f'<div id="{prefix}{each.name}"><dt>' in page
                    assert each.type_label in text
                    assert f"<dd>{each.text.replace('`', '')}</dd>" in text


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_of_a_parameter_is_english_in_another_language(locale: str) -> None:
    def list_texts() -> list[str]:
        return [
            text
            for operation in OPERATIONS.values()
            for _prefix, parameters in list_tables(operation.parameters)
            for each in describe_parameters(parameters)
            for text in (each.meaning, each.type_label)
        ]

    english = list_texts()
    with translation.override(locale.replace("_", "-").lower()):
        translated = list_texts()

    assert [one for one, other in zip(english, translated, strict=True) if one == other] == []


def test_the_index_has_the_operators_and_the_errors() -> None:
    page = get("vi")

    assert re.findall(r'id="operator-(\w+)"', page) == list(OPERATORS)
    assert re.findall(r'id="error-(\d+)"', page) == [str(status) for status in ERROR_TYPES]
    assert re.findall(r"<li>(<code dir=\"ltr\">\$and</code>[^<]+<code[^<]+</code>)", page) == [
        '<code dir="ltr">$and</code> và <code dir="ltr">$or</code>'
    ]
    (_filters, *errors) = [json.loads(html.unescape(each)) for each in PRE.findall(page)]
    assert [each["error"]["__type"] for each in errors] == list(ERROR_TYPES.values())
    assert errors[4]["error"]["limit"] != ["Must be a natural number"]
    assert errors[4]["help"].startswith("https://portal.example.org/vi/api/3/action/")


@pytest.mark.parametrize("page", list_pages())
def test_a_page_is_small_and_its_anchors_lead_somewhere(page: str) -> None:
    text = get("ar", page)

    assert len(text.encode()) < MAX_PAGE_BYTES
    ids = ID.findall(text)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    assert "<script" not in text
    assert "style=" not in text


# Examples -----------------------------------------------------------------------------------------


def test_the_examples_ask_what_the_document_shows() -> None:
    for name in OPERATIONS:
        (request, *_others) = PRE.findall(get("en_GB", f"{name}/"))[1:]
        command = shlex.split(html.unescape(request))
        sent = next(each for each in select_examples(name) if each.status == 200).sent
        if name == "dump":
            assert command[2].endswith(f"/en_GB/datastore/dump/{sent['name']}")
            values = [command[n + 1] for n, each in enumerate(command) if each.startswith("--data")]
            assert values == [
                "format=csv",
                "limit=2",
                "fields=project_code",
                "fields=title",
                "fields=budget",
                'filters={"stage": "planned"}',
            ]
            continue
        assert command[1] == f"https://portal.example.org/en_GB/api/3/action/{name}"
        assert json.loads(command[command.index("-d") + 1] if "-d" in command else "{}") == sent
        assert ("-H" in command) == OPERATIONS[name].is_writing


def test_a_long_answer_is_cut() -> None:
    answer = PRE.findall(get("en", "datastore_info/"))[2]

    assert len(answer.splitlines()) == 61
    assert answer.endswith("\n…")


# Where it is --------------------------------------------------------------------------------------


def test_an_unknown_action_has_no_page() -> None:
    response = Client().get("/en/datastore/api/datastore_x%3Cb%3E/")

    assert response.status_code == 404
    assert "datastore_x&lt;b&gt;" in response.content.decode()


def test_the_pages_link_to_the_reference(client: Client, db: None) -> None:
    page = client.get("/en_GB/datastore/").content.decode()

    assert '<li><a href="/en_GB/datastore/api/">API</a></li>' in page


urlpatterns = [path("", include((page_urlpatterns, "datastore_search")))]


@pytest.mark.urls("tests.reference.test_pages")
def test_a_portal_without_the_api_has_no_reference(client: Client, db: None) -> None:
    assert client.get("/datastore/api/").status_code == 404
    assert client.get("/datastore/api/help_show/").status_code == 404
    assert ">API</a>" not in client.get("/datastore/").content.decode()

"""The document is valid, complete and served, and its viewer fetches nothing from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as portal_settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from django.test.utils import override_script_prefix
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator

from datastore_search.api.actions import Action, Answer, actions
from datastore_search.api.envelope import ERROR_TYPES
from datastore_search.api.parameters import ActionParameters, ResourceParameters
from datastore_search.contrib.analysis.parameter_types import OptionsListField
from datastore_search.downloads.formats import formats
from datastore_search.downloads.parameters import DumpParameters
from datastore_search.filters.operators import operators

ACTIONS = "/en/api/3/action/"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "openapi.md"


def list_operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def resolve_reference(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Return the node that a reference names, or the node itself."""
    for name in node.get("$ref", "#").split("/")[1:]:
        document = document[name]
    return document if "$ref" in node else node


def test_the_command_writes_it_without_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command(
        "spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "openapi.yaml")
    )

    assert "openapi: 3.1.0" in (tmp_path / "openapi.yaml").read_text(encoding="utf-8")
    assert capsys.readouterr() == ("", "")


def test_every_action_has_its_operations_with_every_parameter(document: dict[str, Any]) -> None:
    for name, action in actions.items():
        operations, names = document["paths"][ACTIONS + name], list(action.parameters().fields)
        assert set(operations) == ({"post"} if action.is_writing else {"get", "post"}), name
        for operation in operations.values():
            assert operation["summary"] == str(action.help)
            assert f"`/en/api/action/{name}`" in operation["description"]
        content = operations["post"]["requestBody"]["content"]
        schema = resolve_reference(document, content["application/json"]["schema"])
        assert list(schema["properties"]) == names, name
        assert all(each["description"] for each in schema["properties"].values()), name
        if not action.is_writing:
            parameters = operations["get"].get("parameters", [])
            assert {each["name"] for each in parameters} == set(names), name
            assert all(each["description"] for each in parameters), name


def test_an_action_that_a_portal_adds_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    action = Action(
        "portal_titles", ResourceParameters, lambda _request, _sent: Answer([]), "Text."
    )
    monkeypatch.setitem(actions, action.name, action)

    generator = SchemaGenerator()  # type: ignore[no-untyped-call] # drf-spectacular has no types
    paths = generator.get_schema(request=None, public=True)["paths"]  # type: ignore[no-untyped-call] # the same

    operations = paths[f"{ACTIONS}portal_titles"]
    assert {operation["summary"] for operation in operations.values()} == {"Text."}
    assert [each["name"] for each in operations["get"]["parameters"]] == ["resource_id", "id"]


def test_the_dump_is_described(document: dict[str, Any]) -> None:
    (path,) = (path for path in document["paths"] if "dump" in path)
    dump = document["paths"][path]["get"]

    assert path == "/en/datastore/dump/{name}"
    assert {each["name"] for each in dump["parameters"]} == {"name", *DumpParameters().get_fields()}
    assert all(each["description"] for each in dump["parameters"])
    types = {kind.content_type.partition(";")[0] for kind in formats.values()}
    assert set(dump["responses"]["200"]["content"]) == types | {"application/gzip"}


def test_objects_of_a_query_string_are_json(document: dict[str, Any]) -> None:
    """Other encodings would explode them into parameters of their own."""
    found = {
        (operation["operationId"], parameter["name"]): set(parameter.get("content", ()))
        for operation in list_operations(document)
        for parameter in operation.get("parameters", ())
        if parameter["name"] in {"filters", "having", "facets", "metrics"}
    }

    assert len(found) > 3
    assert set(map(frozenset, found.values())) == {frozenset({"application/json"})}


def test_every_type_of_error_is_an_answer(document: dict[str, Any]) -> None:
    operations = list_operations(document)
    for operation, (status, kind) in product(operations, ERROR_TYPES.items()):
        bodiless = "requestBody" not in operation and status == 415
        assert (str(status) in operation["responses"]) is not bodiless
        if not bodiless:
            response = resolve_reference(document, operation["responses"][str(status)])
            schema = resolve_reference(document, response["content"]["application/json"]["schema"])
            assert schema["properties"]["error"]["properties"]["__type"]["const"] == kind


def test_the_header_of_older_clients_is_described_where_it_is_read(settings: Any) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "datastore_search.api.authentication.BareTokenAuthentication",
        "datastore_search.api.authentication.CkanKeyAuthentication",
    ]

    document = json.loads(Client().get("/en/api/schema/", {"format": "json"}).content)

    scheme = document["components"]["securitySchemes"]["datastoreKey"]
    assert (scheme["in"], scheme["name"]) == ("header", "X-CKAN-API-Key")


def test_writing_takes_a_token_and_reading_may_have_one(document: dict[str, Any]) -> None:
    scheme = document["components"]["securitySchemes"]["datastoreToken"]
    assert (scheme["type"], scheme["in"], scheme["name"]) == ("apiKey", "header", "Authorization")
    for name, action in actions.items():
        optional: list[Any] = [] if action.is_writing else [{}]
        security = document["paths"][ACTIONS + name]["post"]["security"]
        assert security == [*optional, {"datastoreToken": []}]


def test_the_names_of_operations_are_unique(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for operation in list_operations(document)]

    assert len(set(names)) == len(names)


def test_the_viewer_fetches_nothing_from_elsewhere() -> None:
    page = Client().get("/vi/api/docs/").content.decode()

    addresses = re.findall(r'(?:src|href|url)(?:=|: )"([^"]*)"', page)
    static = [address for address in addresses if address != "/vi/api/docs/?script="]
    assert len(static) == len(addresses) - 1
    assert len(static) == 6
    assert '<html lang="vi" dir="ltr">' in page
    assert 'url: "/vi/api/schema/"' in Client().get("/vi/api/docs/?script=").content.decode()
    assert all(finders.find(address.removeprefix("/static/")) for address in static)


def test_the_paths_are_below_the_prefix_of_the_portal(client: Client) -> None:
    headers = {"Accept": "application/json"}
    with override_script_prefix("/data/"):  # which the test client does not set
        below = client.get("/vi/api/schema/", headers=headers, SCRIPT_NAME="/data").json()
    plain = client.get("/vi/api/schema/", headers=headers).json()

    assert below["servers"] == [{"url": "/data"}]
    assert below["paths"] == plain["paths"]
    assert "servers" not in plain


def test_the_settings_of_the_reference_are_those_of_the_example_portal() -> None:
    (_before, block, *_after) = REFERENCE.read_text(encoding="utf-8").split("```")
    namespace: dict[str, Any] = {"INSTALLED_APPS": []}
    exec(block.removeprefix("python"), namespace)

    assert set(namespace["INSTALLED_APPS"]) <= set(portal_settings.INSTALLED_APPS)
    assert namespace["REST_FRAMEWORK"].items() <= portal_settings.REST_FRAMEWORK.items()
    for name in set(namespace["SPECTACULAR_SETTINGS"]) - {
        "TITLE",
        "VERSION",
        "SWAGGER_UI_SETTINGS",
    }:
        assert namespace["SPECTACULAR_SETTINGS"][name] == portal_settings.SPECTACULAR_SETTINGS[name]


IMPORT_WITHOUT_SPECTACULAR = """
import sys

sys.modules["drf_spectacular"] = None
from django.conf import settings

settings.configure(
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "django_filters",
        "knox", "datastore_search",
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}},
)
import django

django.setup()
import datastore_search.urls
"""


@pytest.mark.slow
def test_the_app_works_without_drf_spectacular() -> None:
    subprocess.run([sys.executable, "-c", IMPORT_WITHOUT_SPECTACULAR], check=True, timeout=120)


def test_parameters_and_errors_are_described_in_the_language_of_the_path(client: Client) -> None:
    def read(locale: str) -> dict[str, Any]:
        document = json.loads(client.get(f"/{locale}/api/schema/?format=json").content)
        assert f"/{locale}/api/3/action/datastore_search" in document["paths"]
        facets = document["components"]["schemas"]["DatastoreFacetsParameters"]["properties"]
        option = facets["facets"]["oneOf"][0]["items"]["oneOf"][1]["properties"]["field"]
        error = document["components"]["responses"]["DatastoreBadRequestError"]
        comparisons = document["components"]["schemas"]["DatastoreOperators"]["properties"]
        return {
            "parameter": facets["limit"]["description"],
            "option": option["description"],
            "error": error["description"],
            "operator": comparisons["lt"]["description"],
        }

    english = read("en")
    assert read("de") == {
        "parameter": "Höchstzahl der Werte jeder Facette. 0 liefert keine. Vorgabe: `10`. Mehr als"
        " 1.000 wird darauf verringert.",
        "option": "Der Name des Feldes. Erforderlich.",
        "error": "Die Anfrage kann nicht gelesen werden, oder es gibt keine solche Aktion.",
        "operator": "Kleiner als.",
    }
    assert read("en") == english
    assert english["operator"] == "Less than."


def list_tables(parameters: type[ActionParameters]) -> Iterator[type[ActionParameters]]:
    """List the parameters of an action, and the options of those that have some."""
    yield parameters
    fields: Mapping[str, Any] = parameters().get_fields()
    for field in fields.values():
        if isinstance(field, OptionsListField):
            yield field.options


def list_texts() -> list[str]:
    kinds: list[type[ActionParameters]] = [each.parameters for each in actions.values()]
    kinds.append(DumpParameters)
    return [
        *(
            str(field.help_text)
            for kind in kinds
            for table in list_tables(kind)
            for field in table.get_declared().values()
        ),
        *(str(each.help) for each in operators.values()),
    ]


@pytest.mark.parametrize("locale", ["ar", "de", "es", "fr", "pt-br", "vi"])
def test_no_text_of_a_parameter_is_english_in_another_language(locale: str) -> None:
    english = list_texts()
    with translation.override(locale):
        translated = list_texts()

    assert [one for one, other in zip(english, translated, strict=True) if one == other] == []


def test_the_lines_of_the_docs_serve_the_document_and_its_viewer(
    client: Client, db: None, settings: Any
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", REFERENCE.read_text(), re.DOTALL | re.MULTILINE)
    (lines,) = [block for block in blocks if "SchemaView.as_view" in block]
    names: dict[str, Any] = {"urlpatterns": i18n_patterns()}

    exec(lines, names)

    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": names["urlpatterns"]})
    assert client.get("/en/api/schema/").status_code == 200
    assert client.get("/en/api/docs/").status_code == 200

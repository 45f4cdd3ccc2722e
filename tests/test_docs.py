"""The documentation has everything that the code offers, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.test import Client

import datastore_search
from datastore_search.api.actions import actions, search
from datastore_search.api.actions.search import DEFAULT_LIMIT
from datastore_search.api.authentication import MAX_SEARCH_BODY_BYTES
from datastore_search.api.envelope import ERROR_TYPES, MAX_REPORTED_ERRORS
from datastore_search.api.parameters import (
    MAX_ALIASES,
    MAX_INDEXES,
    MAX_JSON_DEPTH,
    MAX_JSON_VALUES,
    MAX_NAMES,
    MAX_SORT_FIELDS,
    MAX_TEXT_LENGTH,
    MAX_WRITE_RECORDS,
)
from datastore_search.conf import conf, list_settings
from datastore_search.contrib.files.models import Load, LoadState, Mode
from datastore_search.contrib.files.types.schema import parse_table_schema
from datastore_search.contrib.pages.models import SavedView
from datastore_search.downloads.parameters import DumpParameters
from datastore_search.field_types import MAX_FIELDS, Operators, field_types, type_aliases
from datastore_search.filters.conditions import (
    MAX_DEPTH,
    MAX_OPERATIONS,
    MAX_TEXT_CONDITIONS,
    MAX_VALUES,
)
from datastore_search.filters.full_text import MAX_FULL_TEXT_FIELDS, MAX_WORDS
from datastore_search.filters.operators import operators
from datastore_search.messages.parameters import InvalidParameter
from datastore_search.models import MAX_ALIAS_LENGTH, Resource
from datastore_search.search import RecordsFormat
from datastore_search.web.tokens import issue_token
from datastore_search.web.views import MAX_PARAMETERS, MAX_QUERY_STRING_BYTES
from datastore_search.writing import Method
from datastore_search.writing.records import MAX_ID
from example_project.management.commands.write_reference import write_tables

from .builders import act, describe, make_user
from .files.reading import read_in_test_process
from .shared import ModuleTransaction

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(datastore_search.__file__).parent
REFERENCE, HOW_TO = ROOT / "docs" / "reference", ROOT / "docs" / "how-to"
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

SEARCH, WRITING = REFERENCE / "datastore_search.md", REFERENCE / "writing.md"
OTHERS, TYPES = REFERENCE / "other-actions.md", REFERENCE / "field-types.md"
ANALYSIS, SQL = REFERENCE / "facets-and-aggregates.md", REFERENCE / "sql.md"
LOADING, README = HOW_TO / "load-files.md", ROOT / "README.md"
PORTAL = TUTORIALS / "first-portal.md"
CATALOGUE, VIEWS = REFERENCE / "catalogue.md", REFERENCE / "views.md"

#: Members of ``error`` that no class of the exceptions names.
OTHER_MEMBERS = frozenset({"__extras", "callback", "query", "records_row"})

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


# Reading a page -----------------------------------------------------------------------------------


class Table(NamedTuple):
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        """The names in code font of the first column."""
        return [name for row in self.rows for name in list_code_names(row[0])]


def read_text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def list_code_names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def parse_tables(text: str) -> Iterator[Table]:
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = [
            tuple(cell.strip() for cell in line[1:-1].split("|")) for line in block.splitlines()
        ]
        yield Table(cells[0], tuple(cells[2:]))


def find_table(text: str, *header: str) -> Table:
    found = [table for table in parse_tables(text) if table.header[: len(header)] == header]
    assert found, header
    return found[0]


def get_section(page: Path, name: str) -> str:
    """The text below a heading that is a name in code font."""
    (level, rest) = re.split(rf"^(#+) `{name}`$", read_text(page), flags=re.MULTILINE)[1:3]
    return re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.MULTILINE)[0]


def get_page_path(action: str) -> Path:
    (page,) = [
        page
        for page in (SEARCH, WRITING, OTHERS, ANALYSIS, SQL, CATALOGUE, VIEWS)
        if re.search(rf"^##? `{action}`$", read_text(page), re.MULTILINE)
    ]
    return page


def list_documented_parameters(action: str) -> list[str]:
    text = get_section(get_page_path(action), action)
    return find_table(text, "Name", "Meaning").names if "| Name |" in text else []


def list_links(page: Path) -> list[tuple[Path, str]]:
    """The files and anchors that a page's relative links name."""
    targets = [target for target in _LINK.findall(read_text(page)) if "://" not in target]
    parted = [target.partition("#")[::2] for target in targets]
    return [((page.parent / file).resolve() if file else page, anchor) for file, anchor in parted]


def list_anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", read_text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in headings}


# What the code offers -----------------------------------------------------------------------------


def list_commands() -> list[str]:
    found = PACKAGE.glob("**/management/commands/*.py")
    return [path.stem for path in found if path.stem != "__init__"]


def list_options(command: str) -> set[str]:
    def list_own_options(loaded: BaseCommand) -> set[str]:
        parser = loaded.create_parser("manage.py", command)
        return {
            (action.option_strings or [str(action.metavar or action.dest).upper()])[-1]
            for action in parser._actions
        }

    loaded = load_command_class(get_commands()[command], command)
    return list_own_options(loaded) - list_own_options(BaseCommand())


def list_check_ids() -> list[str]:
    files = [read_text(path) for path in PACKAGE.glob("**/checks.py")]
    return re.findall(r'id="(datastore_search\.[EW]\d+)"', "".join(files))


def list_error_members(kind: type[InvalidParameter] = InvalidParameter) -> set[str]:
    own = {kind.parameter} if hasattr(kind, "parameter") else set()
    return own.union(*map(list_error_members, kind.__subclasses__()))


# Actions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "header", "names"),
    [
        (REFERENCE / "dump.md", ("Name", "Meaning"), DumpParameters().get_fields()),
        (TYPES, ("Type", "JSON"), field_types),
        (TYPES, ("Type", "Inferred from"), field_types),
        (TYPES, ("Type", "Sorts"), field_types),
        (SEARCH, ("Type", "Equals"), field_types),
        (SEARCH, ("Operator",), operators),
        (SEARCH, ("`records_format`",), RecordsFormat),
        (WRITING, ("Method",), Method),
        (LOADING, ("Mode",), Mode.values),
        (REFERENCE / "checks.md", ("Id",), list_check_ids()),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_a_table_has_every_name_and_no_others(
    page: Path, header: tuple[str, ...], names: Iterable[str]
) -> None:
    assert {*find_table(read_text(page), *header).names} - {"_id"} == {*map(str, names)}


@pytest.mark.parametrize("name", actions)
def test_the_reference_has_the_parameters_of_every_action_and_no_others(name: str) -> None:
    fields = actions[name].parameters().get_fields()

    assert sorted(list_documented_parameters(name)) == sorted(fields)


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.stem)
def test_the_reference_describes_parameters_and_settings_in_the_words_of_the_code(
    page: Path,
) -> None:
    assert read_text(page) == write_tables(read_text(page)), "make reference"


def test_the_reference_has_no_action_that_there_is_not() -> None:
    described = [
        name
        for page in (WRITING, OTHERS, ANALYSIS, SQL, CATALOGUE, VIEWS)
        for name in re.findall(r"^## `(\w+)`$", read_text(page), re.MULTILINE)
    ]

    assert sorted(["datastore_search", *described]) == sorted(actions)
    assert set(find_table(read_text(WRITING), "Action").names) == {
        name for name in actions if actions[name].is_writing and name.startswith("datastore_")
    }


ID = "2f1c9f6e-7f0e-4f0a-9a43-0d6c1a6f0b10"
VIEW = "8c1d2e3f-4a5b-4c6d-8e7f-90a1b2c3d4e5"
QUESTION = {
    "q": "river",
    "full_text": "river",
    "plain": True,
    "substrings": False,
    "websearch": False,
    "language": "english",
    "filters": {"n": {"gt": 0}},
}
EVERYTHING: Mapping[str, list[dict[str, Any]]] = {
    "datastore_search": [
        QUESTION
        | {"sort": "_id", "distinct": False, "offset": 1}
        | {"include_next_page": True, "highlight": True}
    ],
    "datastore_facets": [{"facets": "n"}],
    "datastore_aggregate": [
        QUESTION
        | {"group_by": "n", "metrics": "count", "having": {"count_to": 1}, "sort": "count_to"}
        | {"compare": {"field": "n", "from": 1, "to": 2}, "offset": 0}
    ],
    "datastore_suggest": [{"field": "n", "prefix": "1"}, {"q": "rivr"}],
    "datastore_search_sql": [
        {"sql": "SELECT 1 FROM " + ", ".join(f'"{ID}" AS t{each}' for each in range(15))}
    ],
    "datastore_info": [{}],
    "datastore_create": [
        {
            "private": False,
            "fields": [{"id": "n", "info": {"label": "N"}}],
            "records": [{"n": 3}],
            "primary_key": ["n"],
            "indexes": ["n"],
            "index_substrings": False,
            "aliases": ["rivers"],
            "delete_fields": False,
            "include_records": True,
        }
    ],
    "datastore_upsert": [{"records": [{"n": 1}], "dry_run": True, "include_records": True}],
    "datastore_delete": [{"filters": {"n": 1}, "include_deleted_records": True}],
    "datastore_records_delete": [{"filters": {"n": 1}, "include_deleted_records": True}],
    "package_show": [{"id": ID}],
    "package_search": [{}],
    "resource_show": [{"id": ID}],
    "resource_create": [{"name": "New"}],
    "resource_update": [{"id": ID, "name": "New"}],
    "resource_patch": [{"id": ID, "name": "New"}],
    "package_create": [{"name": "new"}],
    "package_update": [{"id": "gauges"}],
    "package_patch": [{"id": "gauges"}],
    "package_revise": [{"match__name": "gauges"}],
    "package_resource_reorder": [{"id": "gauges", "order": []}],
    "resource_search": [{"query": "name:x"}],
    "organization_show": [{"id": "hue", "include_datasets": True}],
    "resource_view_create": [{"title": "New", "view_type": "recline_view", "query": "q=a"}],
    "resource_view_show": [{"id": VIEW}],
    "resource_view_update": [{"id": VIEW, "query": "q=a"}],
    "resource_view_reorder": [{"id": ID, "order": []}],
    "resource_view_delete": [{"id": VIEW}],
    "organization_member_create": [{"id": "own", "username": "reader", "role": "editor"}],
    "tag_search": [{"query": "riv"}],
    "tag_show": [{"id": "rivers", "include_datasets": True}],
    "user_show": [{}],
    "api_token_create": [{"user": "reader", "name": "script"}],
    "status_show": [{}],
    "task_status_show": [{"entity_id": ID}],
}
#: Actions of the catalogue that write, and the one whose answer theirs is like.
LIKE_SHOW = {
    **dict.fromkeys(("resource_create", "resource_update", "resource_patch"), "resource_show"),
    **dict.fromkeys(("package_create", "package_update", "package_patch"), "package_show"),
}

#: Those of views, which answer like ``resource_view_show``.
LIKE_VIEW = {"resource_view_create", "resource_view_update"}

#: Actions whose results are no objects.
LISTS = {
    "package_list",
    "package_autocomplete",
    "package_delete",
    "dataset_purge",
    "resource_delete",
    "current_package_list_with_resources",
    "resource_view_list",
    "organization_list",
    "group_list",
    "tag_list",
    "license_list",
    "site_read",
    "help_show",
    "datapusher_submit",
    *("vocabulary_list", "tag_autocomplete", "format_autocomplete", "group_package_show"),
    *("organization_list_for_user", "group_list_authz", "user_list", "api_token_list"),
    "api_token_revoke",
    *(
        f"{kind}_{verb}"
        for kind in ("organization", "group")
        for verb in ("delete", "purge", "member_delete")
    ),
}

#: Actions of organizations and groups with the result of another one.
LIKE_OTHERS = {
    *(f"organization_{verb}" for verb in ("create", "update", "patch")),
    *(f"group_{verb}" for verb in ("create", "update", "patch", "show", "member_create")),
}


@pytest.fixture
def token(db: None) -> str:
    return issue_token(make_user(is_superuser=True))


@pytest.fixture
def rivers(client: Client, token: str) -> None:
    """A table that has words, and a primary key, of a client's making."""
    records = [{"n": 1, "t": "river"}, {"n": 2, "t": "rivers"}]
    sent = {"resource_id": ID, "records": records, "primary_key": "n"}
    assert act(client, "datastore_create", sent, token).status_code == 200
    resource = Resource.objects.get(pk=ID)
    describe(resource, publisher="Hue")
    SavedView.objects.create(id=VIEW, resource=resource, title="A view", query="q=river")
    act(client, "package_create", {"name": "gauges"}, token)
    Load.objects.create(resource=resource, source="rivers.csv", state=LoadState.UNCHANGED)
    describe(Resource.objects.get(pk=ID), publisher="Hue", tags=["rivers"])
    assert act(client, "organization_create", {"name": "own"}, token).status_code == 200


@pytest.mark.parametrize(
    ("name", "parameters"),
    [(name, parameters) for name, sent in EVERYTHING.items() for parameters in sent],
)
@pytest.mark.usefixtures("rivers")
def test_the_reference_has_the_members_of_every_result_and_no_others(
    client: Client, token: str, name: str, parameters: dict[str, Any]
) -> None:
    wanted = {"resource_id": ID} if "resource_id" in list_documented_parameters(name) else {}
    answer = act(client, name, {**wanted, **parameters}, token).json()

    is_new, name = name == "resource_create", LIKE_SHOW.get(name, name)
    name = "resource_view_show" if name in LIKE_VIEW else name
    described = find_table(get_section(get_page_path(name), name), "Member", "Type", "Is").names

    loads = {"datastore_load"} if is_new else set()  # there is none yet
    assert sorted({*answer["result"]} | loads) == sorted(described), answer


@pytest.mark.usefixtures("rivers")
def test_the_reference_has_the_members_within_a_description(client: Client, token: str) -> None:
    result = act(client, "datastore_info", {"resource_id": ID}, token).json()["result"]

    for member, members in (("schema", result["fields"][0]["schema"]), ("meta", result["meta"])):
        assert find_table(read_text(OTHERS), f"Member of `{member}`").names == list(members)


def test_every_action_with_a_result_of_members_was_asked() -> None:
    assert {*EVERYTHING, *LISTS, *LIKE_OTHERS} == set(actions)


# Errors -------------------------------------------------------------------------------------------


def test_the_reference_has_every_type_of_error_and_no_others() -> None:
    table = find_table(read_text(SEARCH), "Status")

    assert [(int(row[0]), list_code_names(row[1])[0]) for row in table.rows] == list(
        ERROR_TYPES.items()
    )


def test_the_reference_has_every_member_of_an_error_and_no_others() -> None:
    described = {
        *find_table(read_text(SEARCH), "Member", "Meaning").names,
        *find_table(read_text(WRITING), "Member", "When").names,
        *find_table(read_text(CATALOGUE), "Member", "When").names,
        *find_table(read_text(VIEWS), "Member", "When").names,
    }
    parameters = {name for action in actions for name in list_documented_parameters(action)}
    members = list_error_members() | OTHER_MEMBERS

    assert members <= described | {*list_documented_parameters("datastore_search")}
    assert described <= members | parameters


# Types and filters --------------------------------------------------------------------------------


def test_the_reference_has_every_field_type_with_its_other_names() -> None:
    table = find_table(read_text(TYPES), "Type", "Other names")

    assert {row[0].strip("`"): set(list_code_names(row[1])) for row in table.rows} == {
        name: {alias for alias, meant in type_aliases.items() if meant == name}
        for name in field_types
    }


def test_the_reference_says_which_types_are_inferred() -> None:
    table = find_table(read_text(TYPES), "Type", "Inferred from")
    never = {name for row in table.rows if row[1] == "never" for name in list_code_names(row[0])}

    assert never == {name for name in field_types if not field_types[name].duckdb.is_inferred}


def test_the_reference_says_which_operators_fit_which_type() -> None:
    rows = find_table(read_text(TYPES), "Type", "Sorts").rows
    operators_by_type = {name: row[1:] for row in rows for name in list_code_names(row[0])}

    for name, kind in field_types.items():
        sorts, compares, texts = operators_by_type[name]
        assert (sorts != "no") == (compares != "no") == (Operators.ORDER in kind.operators)
        assert texts.startswith("yes") == (Operators.TEXT in kind.operators)
        assert texts.startswith("only `contains`") == (Operators.CONTAINS in kind.operators)


def test_the_reference_has_every_field_of_the_metadata() -> None:
    rows = find_table(read_text(SEARCH), "Field", "Type").rows

    assert {row[0].strip("`"): row[1].strip("`") for row in rows} == search.FIELD_TYPES


LIMITS = [
    (SEARCH, f"`DATASTORE_SEARCH_MAX_LIMIT` ({conf.MAX_LIMIT:,})"),
    (SEARCH, f"The default of `limit` is {DEFAULT_LIMIT};"),
    (SEARCH, f"{MAX_NAMES:,} names"),
    (SEARCH, f"{MAX_NAMES:,} keys, of {MAX_SORT_FIELDS} fields"),
    (SEARCH, f"at most {MAX_WORDS} words together"),
    (SEARCH, f"There may be {MAX_FULL_TEXT_FIELDS} members"),
    (SEARCH, f"a list counts as one operation | {MAX_VALUES:,} |"),
    (SEARCH, f"#the-index-of-substrings) answers | {MAX_TEXT_CONDITIONS} |"),
    (SEARCH, f"{MAX_SEARCH_BODY_BYTES:,}, or the same setting of Django"),
    (SEARCH, f"MAX_ANONYMOUS_BODY_BYTES` ({conf.MAX_ANONYMOUS_BODY_BYTES:,})"),
    (SEARCH, f"before anything is parsed | {MAX_JSON_VALUES:,} |"),
    (SEARCH, f"bytes of the query string | {MAX_QUERY_STRING_BYTES:,} |"),
    (SEARCH, f"each of a list | {MAX_PARAMETERS:,},"),
    (SEARCH, f"levels of JSON within each other | {MAX_JSON_DEPTH} |"),
    (SEARCH, f"the name in an address | {MAX_ALIAS_LENGTH} |"),
    (SEARCH, f"`language`, `name` | {MAX_TEXT_LENGTH} |"),
    (WRITING, f"`DATASTORE_SEARCH_MAX_WRITE_BODY_BYTES` ({conf.MAX_WRITE_BODY_BYTES:,})"),
    (WRITING, f"at most {MAX_WRITE_RECORDS:,} records"),
    (WRITING, f"{MAX_NAMES:,} objects in `fields`"),
    (WRITING, f"A call may name {MAX_INDEXES} fields"),
    (WRITING, f"A call can set at most {MAX_ALIASES} aliases"),
    (WRITING, f"It has up to {MAX_ALIAS_LENGTH} letters"),
    (SEARCH, f"at most {MAX_REPORTED_ERRORS} messages"),
    (SEARCH, f"objects of several members | {MAX_OPERATIONS} |"),
    (SEARCH, f"objects of a group or list | {MAX_OPERATIONS - 1} |"),
    (SEARCH, f"groups within each other | {MAX_DEPTH} |"),
    (WRITING, f"{MAX_FIELDS:,} fields"),
    (WRITING, f"{MAX_ID:,}"),
]


def test_the_reference_says_every_limit() -> None:
    for page, text in LIMITS:
        assert text in " ".join(read_text(page).split()), text


# Settings, commands, checks -----------------------------------------------------------------------


def test_the_reference_has_every_setting_and_no_others() -> None:
    tables = parse_tables(read_text(REFERENCE / "settings.md"))
    described = [name for each in tables if "Default" in each.header for name in each.names]

    assert sorted(described) == sorted(list_settings())


def test_the_reference_has_every_command_and_no_others() -> None:
    described = re.findall(r"^## `(\w+)`$", read_text(REFERENCE / "commands.md"), re.MULTILINE)

    assert sorted(described) == sorted(list_commands())


@pytest.mark.parametrize("name", list_commands())
def test_the_reference_has_every_option_of_a_command_and_no_others(name: str) -> None:
    text = get_section(REFERENCE / "commands.md", name)
    described = {
        each.split()[0]
        for table in parse_tables(text)
        if table.header[0] == "Option"
        for each in table.names
    }

    assert described <= list_options(name)
    assert all(option in text for option in list_options(name))


# Examples -----------------------------------------------------------------------------------------


def list_code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", read_text(page), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.stem)
def test_every_json_example_is_json(page: Path) -> None:
    for block in list_code_blocks(page, "json"):
        json.loads(block)


def list_load_arguments(page: Path) -> list[list[str]]:
    """The arguments of each ``load_resource`` on a page, whatever stands around it."""
    lines = read_text(page).replace("\\\n", " ").splitlines()
    found = [line.partition("manage.py load_resource")[2] for line in lines]
    return [shlex.split(each.rstrip("`"), comments=True) for each in found if each]


@pytest.mark.parametrize(
    ("page", "count"), [(LOADING, 8), (PORTAL, 2)], ids=["load-files", "portal"]
)
def test_every_example_of_a_load_is_one_that_the_command_takes(page: Path, count: int) -> None:
    parser = load_command_class("datastore_search.contrib.files", "load_resource").create_parser(
        "", ""
    )
    examples = list_load_arguments(page)

    for words in examples:
        arguments = parser.parse_args(words)
        assert (arguments.path is None) != (arguments.url is None), words
    assert len(examples) >= count


def test_the_readme_has_the_steps_of_the_tutorial_for_the_core_alone() -> None:
    steps = get_chapter(README, "Add the core to your portal")
    code = re.findall(r"^ *```python\n(.*?)^ *```", steps, re.DOTALL | re.MULTILINE)
    tutorial = re.sub(
        r'^    "datastore_search\.contrib\..*\n', "", read_text(PORTAL), flags=re.MULTILINE
    )

    assert len(code) == 3
    assert all(textwrap.dedent(block) in tutorial for block in code)


def test_the_readme_is_read_in_a_few_minutes_and_names_every_app() -> None:
    text = read_text(README)
    apps = {path.parent.name for path in (ROOT / "datastore_search" / "contrib").glob("*/apps.py")}

    assert len(text.splitlines()) <= 120
    assert (
        set(re.findall(r"^\| \[`datastore_search\.contrib\.(\w+)`\]", text, re.MULTILINE)) == apps
    )


def test_the_guide_to_loading_has_every_state() -> None:
    text = get_chapter(LOADING, "Jobs")

    assert all(str(state.value) in text for state in LoadState if state != LoadState.DRAFT)


def test_the_schema_in_the_guide_to_loading_is_held_in_full() -> None:
    (block,) = list_code_blocks(LOADING, "json")

    schema = parse_table_schema(json.loads(block))

    assert schema.types == {"code": "text", "day": "date:dmy", "depth": "numeric|float8"}
    assert (schema.primary_key, schema.missing_values, schema.notices) == (("code",), ("NA",), ())


def get_chapter(page: Path, title: str) -> str:
    """The text below a heading of the second level."""
    return read_text(page).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def parse_curl_commands(texts: Iterable[str]) -> Iterator[list[str]]:
    for text in texts:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
        starts = [index for index, word in enumerate(words) if word == "curl"]
        for start, end in pairwise([*starts, len(words)]):
            yield words[start + 1 : end]


def run_curl(client: Client, words: list[str], token: str) -> Any:
    path, body, pairs, headers = "", "", list[tuple[str, str]](), dict[str, str]()
    rest = iter(words)
    for word in rest:
        match word:
            case "-H":
                name, _, value = next(rest).partition(": ")
                headers[name] = value.replace("$TOKEN", token)
            case "-d":
                body = next(rest)
            case "--data-urlencode":
                name, _, value = next(rest).partition("=")
                pairs.append((name, value))
            case _ if word.startswith("http://127.0.0.1:8000"):
                path = word.removeprefix("http://127.0.0.1:8000")
    if not body:
        return client.get(f"{path}?{urlencode(pairs)}" if pairs else path, headers=headers)
    kind = headers.get("Content-Type", "application/x-www-form-urlencoded")
    return client.post(path, body, content_type=kind, headers=headers)


@pytest.fixture(scope="module")
def demo(module_transaction: ModuleTransaction) -> None:
    with read_in_test_process():
        call_command("demo", "--port", "0", stdout=StringIO())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "count"),
    [
        (SEARCH, 3),
        (WRITING, 3),
        (OTHERS, 3),
        (README, 1),
        (TUTORIALS / "demo.md", 2),
        (ANALYSIS, 4),
        (SQL, 1),
        (HOW_TO / "use-clients.md", 4),
        (HOW_TO / "write-records.md", 5),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_every_curl_example_works_on_the_demo(
    client: Client, demo: None, db: None, page: Path, count: int
) -> None:
    token = issue_token(get_user_model().objects.get(username="admin"))
    ran = 0
    for words in parse_curl_commands(list_code_blocks(page, "sh")):
        response = run_curl(client, words, token)
        content = b"".join(response)  # of a dump too, which is sent as it is read
        assert response.status_code == 200, content
        ran += 1

    assert ran >= count
    assert Resource.objects.filter(table_version__isnull=False).count() == 6


# Links --------------------------------------------------------------------------------------------


def test_every_relative_link_leads_somewhere() -> None:
    for page in PAGES:
        for file, anchor in list_links(page):
            assert file.exists(), (page, file)
            assert not anchor or anchor in list_anchors(file), f"{page}: {file}#{anchor}"


def test_every_page_is_in_the_navigation() -> None:
    names = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}

    assert names - set(re.findall(r": (\S+\.md)\n", read_text(ROOT / "mkdocs.yml"))) == set()

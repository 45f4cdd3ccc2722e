"""The tools: one table of them, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy
from rest_framework.request import Request

from ...api.actions import actions
from ...api.actions.info import InfoParameters
from ...api.parameters import ActionParameters, NonNegativeIntegerField, Schema
from ...filters.operators import operators
from ...models import Resource
from .answers import (
    MAX_ROWS_LETTERS,
    cut_text,
    describe_cut,
    dump_compact,
    parse_result,
    write_csv,
    write_page,
)

#: Records that are shown as examples, and the letters that they may take.
_MAX_EXAMPLES, _MAX_EXAMPLES_LETTERS = 3, 4_000

#: Fields of one answer.
MAX_FIELDS = 100
_MAX_FIELDS_LETTERS = 12_000
_MAX_DESCRIPTION_LETTERS = 3_000

#: Common values of a field that are shown.
_MAX_TOP_VALUES = 5

#: What is said of a field, by the entry of ``datastore_info``, if it is there.
_OF_INFO = ("label", "notes")
_OF_PROFILE = ("nulls", "empty", "distinct", "min", "max", "mean", "top")
_COLUMNS = ("field", "type", *_OF_INFO, *_OF_PROFILE)


class DescribeTableParameters(InfoParameters):
    offset = NonNegativeIntegerField(
        help_text=gettext_lazy("Number of fields to skip, for a table with many fields."),
        shown_default="0",
    )


def describe_table(request: Request, arguments: Mapping[str, object]) -> str:
    """Describe a resource, its fields from an offset on, and show its first records."""
    parameters = DescribeTableParameters.parse(arguments)
    name, offset = DescribeTableParameters.get_name(parameters), parameters.get("offset", 0)
    info = actions["datastore_info"].run(request, {"resource_id": name}).result
    meta = info["meta"]
    resource = Resource.objects.get(pk=meta["id"])
    described_table = {
        "resource_id": meta["id"],
        "title": str(resource),
        "description": cut_text(resource.local_description.text, _MAX_DESCRIPTION_LETTERS),
        "records": meta["count"],
        "aliases": meta["aliases"],
    }
    described = []
    for field in info["fields"][offset : offset + MAX_FIELDS]:
        entry, profile = field.get("info", {}), field.get("profile", {})
        said = {
            **{name: entry[name] for name in _OF_INFO if entry.get(name)},
            **{each: profile[each] for each in _OF_PROFILE if profile.get(each) not in (None, [])},
        }
        if "top" in said:
            said["top"] = said["top"][:_MAX_TOP_VALUES]
        described.append({"field": field["id"], "type": field["type"], **said})
    columns = [name for name in _COLUMNS if any(name in each for each in described)]
    rows = [[each.get(name) for name in columns] for each in described]
    total = len(info["fields"])
    parts = [
        f"{dump_compact(described_table)}\n",
        write_page(columns, rows, total=total, offset=offset, max_letters=_MAX_FIELDS_LETTERS),
    ]
    if described:
        names = [each["field"] for each in described]
        sent = {"resource_id": name, "fields": names, "limit": _MAX_EXAMPLES}
        sent |= {"include_total": False, "records_format": "lists"}
        records = parse_result(actions["datastore_search"].run(request, sent).result["records"])
        shown = write_csv(names, records, _MAX_EXAMPLES_LETTERS)
        parts.append(f"{_('The first records:')}\n{shown.text}")
    return "\n".join(parts)


#: Rows of an answer where ``limit`` is not given, and at most.
DEFAULT_ROWS = 20
MAX_ROWS = 200

#: What agents need to know of conditions beside their description.
_FILTERS_NOTE = format_lazy(
    gettext_lazy(
        "Field → value, list of values, null for empty cells, or operators, as in {example}."
        " Operators: {operators}. `$or` and `$and` hold lists of such objects."
    ),
    example='`{"amount": {"gte": 5}}`',
    operators=", ".join(operators),
)

_CONDITIONS = ("q", "filters", "geo", "plain", "substrings")
_PAGE = ("sort", "limit", "offset")


@dataclass(frozen=True, slots=True)
class Tool:
    """
    One tool: what it is called, what it takes, and the function that runs it.

    ``names`` are the ``parameters`` that its schema has.  With ``has_row_limit``, ``limit`` obeys
    ``DEFAULT_ROWS`` and ``MAX_ROWS``.
    """

    name: str
    title: str | Promise
    description: str | Promise
    parameters: type[ActionParameters]
    names: Sequence[str]
    run: Callable[[Request, Mapping[str, object]], str]
    required: Sequence[str] = ("resource_id",)
    has_row_limit: bool = True

    def build_input_schema(self) -> Schema:
        """
        Describe the arguments in JSON Schema, in the language in use.

        There are no references and no alternatives at the top, which some models do not take.
        """
        schema = self.parameters.build_schema(self.names, self.required)
        for name, argument in schema["properties"].items():
            if name == "resource_id":
                argument["description"] = _("The id of a table, its name, or one of its aliases.")
            elif name in {"filters", "having"}:
                argument["description"] += f" {_FILTERS_NOTE}"
            elif name == "limit" and self.has_row_limit:
                argument["description"] = _(
                    "Maximum number of rows: %(default)s if not given, at most %(most)s."
                ) % {"default": DEFAULT_ROWS, "most": MAX_ROWS}
        return schema


def _run_action(
    request: Request, name: str, arguments: Mapping[str, object], fixed: Mapping[str, object]
) -> Mapping[str, Any]:
    """Run an action with a limit that fits an answer; the arguments go to it as they are."""
    action = actions[name]
    limit = min(action.parameters.parse(arguments).get("limit", DEFAULT_ROWS), MAX_ROWS)
    result: Mapping[str, Any] = action.run(request, {**arguments, "limit": limit, **fixed}).result
    return result


def _read_rows(action: str) -> Callable[[Request, Mapping[str, object]], str]:
    def run(request: Request, arguments: Mapping[str, object]) -> str:
        result = _run_action(request, action, arguments, {"records_format": "lists"})
        columns, rows = [each["id"] for each in result["fields"]], parse_result(result["records"])
        offset = result.get("offset", 0)
        return write_page(columns, rows, total=result.get("total"), offset=offset)

    return run


def _count_values(request: Request, arguments: Mapping[str, object]) -> str:
    """Write each facet: a line of JSON about it, then its values as CSV."""
    result = _run_action(request, "datastore_facets", arguments, {})
    facets = parse_result(result["facets"])
    parts = [_("%(total)s records match.") % {"total": result["total"]}]
    is_cut = False
    for facet in facets:
        items = facet.pop("values", None) or facet.pop("bins", None) or []
        text = dump_compact(facet)
        if items:
            columns = [*items[0]]
            rows = [[item[column] for column in columns] for item in items]
            written = write_csv(columns, rows, MAX_ROWS_LETTERS // len(facets))
            is_cut |= written.is_cut or written.row_count < len(rows)
            text = f"{text}\n{written.text}"
        parts.append(text)
    if is_cut:
        parts[0] += " " + _(
            "Values were left out or cut: ask for fewer facets, or with a smaller limit."
        )
    return "\n".join(parts)


def _suggest_values(request: Request, arguments: Mapping[str, object]) -> str:
    """Write the suggested values as CSV, or else words and queries as JSON."""
    result = _run_action(request, "datastore_suggest", arguments, {})
    values = parse_result(result["values"])
    if values:
        rows = [[item["value"], item["count"]] for item in values]
        written = write_csv(["value", "count"], rows, MAX_ROWS_LETTERS)
        return f"{describe_cut()}\n\n{written.text}" if written.is_cut else written.text
    others = {name: result[name] for name in ("words", "queries") if result[name]}
    return dump_compact(others) if others else _("Nothing was found.")


@cache
def get_tools() -> Mapping[str, Tool]:
    """Get the tools by name; not before Django has started, as apps add actions then."""
    tools: list[Tool] = []
    if apps.is_installed("datastore_search.contrib.catalogue"):
        from .catalogue import FindTablesParameters, find_tables  # noqa: PLC0415 - where it is used

        tools += [
            Tool(
                "find_tables",
                gettext_lazy("Find tables"),
                gettext_lazy(
                    "List the readable tables, by words in their titles, descriptions and "
                    "fields: id, title, description, number of records, names of fields."
                ),
                FindTablesParameters,
                ("q", "limit", "offset"),
                find_tables,
                required=(),
                has_row_limit=False,
            )
        ]
    tools += [
        Tool(
            "describe_table",
            gettext_lazy("Describe a table"),
            gettext_lazy(
                "Describe a table: its fields with types, labels, notes and the most common"
                " values, and its first records. Use it before other tools."
            ),
            DescribeTableParameters,
            ("resource_id", "offset"),
            describe_table,
        ),
        Tool(
            "search_records",
            gettext_lazy("Search records"),
            gettext_lazy(
                "Read the records of a table that match words and filters, as CSV."
                " For sums and counts use aggregate_records."
            ),
            actions["datastore_search"].parameters,
            ("resource_id", *_CONDITIONS, "fields", "distinct", *_PAGE),
            _read_rows("datastore_search"),
        ),
    ]
    if apps.is_installed("datastore_search.contrib.analysis"):
        tools += [
            Tool(
                "aggregate_records",
                gettext_lazy("Compute figures"),
                gettext_lazy(
                    "Group the records of a table and compute counts, sums, averages and other "
                    "figures for each group, as CSV."
                ),
                actions["datastore_aggregate"].parameters,
                ("resource_id", "group_by", "metrics", "compare", *_CONDITIONS, "having", *_PAGE),
                _read_rows("datastore_aggregate"),
            ),
            Tool(
                "count_values",
                gettext_lazy("Count values"),
                gettext_lazy("Count the most common values of fields of a table, or their ranges."),
                actions["datastore_facets"].parameters,
                ("resource_id", "facets", *_CONDITIONS, "exclude_own", "limit"),
                _count_values,
                required=("resource_id", "facets"),
            ),
            Tool(
                "suggest_values",
                gettext_lazy("Suggest values"),
                gettext_lazy(
                    "Find the values of a field that begin with some letters, or, for a query q"
                    " that finds nothing, similar words."
                ),
                actions["datastore_suggest"].parameters,
                ("resource_id", "field", "prefix", *_CONDITIONS, "limit"),
                _suggest_values,
            ),
        ]
    return {tool.name: tool for tool in tools}

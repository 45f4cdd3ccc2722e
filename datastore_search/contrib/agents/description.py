"""``describe_table``: the fields of a resource, their profiles, and some records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.request import Request

from ...api.actions import actions
from ...api.actions.info import InfoParameters
from ...api.parameter_types import NonNegativeIntegerField
from ...models import Resource
from .answers import cut_text, dump_compact, parse_result, write_csv, write_page

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
    """The parameters of ``describe_table``."""

    offset = NonNegativeIntegerField(
        help_text=gettext_lazy("Number of fields to skip, for a table with many fields."),
        shown_default="0",
    )


def describe_table(request: Request, arguments: Mapping[str, object]) -> str:
    """Describe a resource, its fields from an offset on, and show its first records."""
    parameters = DescribeTableParameters.parse(arguments)
    name, offset = DescribeTableParameters.get_name(parameters), parameters.get("offset", 0)
    info = actions["datastore_info"].run(request, {"resource_id": name}).result
    described = [_describe_field(each) for each in info["fields"][offset : offset + MAX_FIELDS]]
    columns = [name for name in _COLUMNS if any(name in each for each in described)]
    rows = [[each.get(name) for name in columns] for each in described]
    total = len(info["fields"])
    parts = [
        f"{dump_compact(_describe_resource(info['meta']))}\n",
        write_page(columns, rows, total=total, offset=offset, max_letters=_MAX_FIELDS_LETTERS),
    ]
    if described:
        records = _show_records(request, name, [each["field"] for each in described])
        parts.append(f"{_('The first records:')}\n{records}")
    return "\n".join(parts)


def _describe_resource(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the table, which the user may read."""
    resource = Resource.objects.get(pk=meta["id"])
    return {
        "resource_id": meta["id"],
        "title": str(resource),
        "description": cut_text(resource.local_description.text, _MAX_DESCRIPTION_LETTERS),
        "records": meta["count"],
        "aliases": meta["aliases"],
    }


def _describe_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a field: its entry in the data dictionary, and what its values are like."""
    info, profile = field.get("info", {}), field.get("profile", {})
    said = {
        **{name: info[name] for name in _OF_INFO if info.get(name)},
        **{name: profile[name] for name in _OF_PROFILE if profile.get(name) not in (None, [])},
    }
    if "top" in said:
        said["top"] = said["top"][:_MAX_TOP_VALUES]
    return {"field": field["id"], "type": field["type"], **said}


def _show_records(request: Request, name: str, fields: list[str]) -> str:
    sent = {
        "resource_id": name,
        "fields": cast("list[object]", fields),
        "limit": _MAX_EXAMPLES,
        "include_total": False,
        "records_format": "lists",
    }
    result = actions["datastore_search"].run(request, sent).result
    return write_csv(fields, parse_result(result["records"]), _MAX_EXAMPLES_LETTERS).text

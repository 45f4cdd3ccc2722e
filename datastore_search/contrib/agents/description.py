"""``describe_table``: the fields of a resource, their profiles, and some records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.request import Request

from ...api.actions import actions
from ...api.parameter_types import NonNegativeIntegerField
from ...api.parameters import InfoParameters
from ...models import Resource
from .answers import Written, cut_text, dump_compact, parse_result, write_csv, write_json_lines

#: Records that are shown as examples, and the letters that they may take.
_MAX_EXAMPLES = 3
_MAX_EXAMPLES_LETTERS = 4_000

_MAX_FIELDS_LETTERS = 12_000
_MAX_DESCRIPTION_LETTERS = 3_000

#: Common values of a field that are shown.
_MAX_TOP_VALUES = 5

#: What a profile says beside its common values.
_FACTS = ("distinct", "min", "max", "mean")
_COUNTS = ("nulls", "empty")


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
    fields = info["fields"][offset:]
    written = write_json_lines(map(_describe_field, fields), _MAX_FIELDS_LETTERS)
    shown = [field["id"] for field in fields[: written.count]]
    parts = [
        f"{dump_compact(_describe_resource(info['meta']))}\n",
        f"{_describe_range(offset, written, len(info['fields']))}\n{written.text}",
    ]
    if shown:
        parts.append(f"{_('The first records:')}\n{_show_records(request, name, shown)}")
    return "\n".join(parts)


def _describe_resource(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the table, which the user may read."""
    resource = Resource.objects.filter(pk=meta["id"]).first()
    return {
        "resource_id": meta["id"],
        "title": str(resource or ""),
        "description": cut_text(
            resource.local_description.text if resource else "", _MAX_DESCRIPTION_LETTERS
        ),
        "records": meta["count"],
        "aliases": meta["aliases"],
    }


def _describe_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a field: its entry in the data dictionary, and what its values are like."""
    schema, info = field["schema"], field.get("info", {})
    profile = field.get("profile", {})
    return {
        "field": field["id"],
        "type": field["type"],
        **{name: info[name] for name in ("label", "notes") if info.get(name)},
        **({} if schema["facetable"] else {"facetable": False}),
        **{name: profile[name] for name in _COUNTS if profile.get(name)},
        **{name: profile[name] for name in _FACTS if name in profile},
        **({"top": top} if (top := profile.get("top", [])[:_MAX_TOP_VALUES]) else {}),
    }


def _describe_range(offset: int, written: Written, total: int) -> str:
    """Say which fields follow, and how to ask for the others."""
    last = offset + written.count
    text = _("Fields %(first)s to %(last)s of %(total)s:") % {
        "first": offset + 1,
        "last": last,
        "total": total,
    }
    if last < total and written.count:
        more = _("For the next ones, ask again with offset %(offset)s.") % {"offset": last}
        return f"{more} {text}"
    return text


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

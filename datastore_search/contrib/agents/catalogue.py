"""``find_tables``: the resources that a user may read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.authentication import get_reader
from ...api.parameters import MAX_ROW_NUMBER, ActionParameters, NonNegativeIntegerField, TextField
from ...guards.shares import Client
from ...models import Field, Resource
from ...search import open_snapshot
from ..catalogue.datasets import CatalogueFilterSet, list_tables, match_table
from .answers import write_page

DEFAULT_TABLES = 20
MAX_TABLES = 50

#: Fields of a table that the list names.
_MAX_NAMED_FIELDS = 12

_COLUMNS = ("resource_id", "title", "description", "records", "fields")


class FindTablesParameters(ActionParameters):
    q = TextField(
        help_text=_(
            "Words that must all occur in the title, the description, the id or the fields "
            "of a table; all tables if not given."
        )
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of tables."),
        shown_default=str(DEFAULT_TABLES),
        reduced_to=lambda: MAX_TABLES,
    )
    offset = NonNegativeIntegerField(help_text=_("Number of tables to skip."), shown_default="0")


def find_tables(request: Request, arguments: Mapping[str, object]) -> str:
    parameters = FindTablesParameters.parse(arguments)
    with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
        using = session.connection.alias
        tables = list_tables(using)
        readable = tables.readable_by(get_reader(request))
        shown = tables.filter(readable.condition)
        filters = CatalogueFilterSet({"q": parameters.get("q", "")}, shown, match_table)
        if not filters.is_valid():
            raise serializers.ValidationError(dict(filters.errors))
        offset = min(parameters.get("offset", 0), MAX_ROW_NUMBER)
        limit = min(parameters.get("limit", DEFAULT_TABLES), MAX_TABLES)
        found: QuerySet[Resource] = filters.qs
        resources = list(found[offset : offset + limit])
        names: dict[Any, list[str]] = defaultdict(list)
        fields = Field.objects.using(using).order_by("position")
        first = fields.filter(resource__in=resources, position__lte=_MAX_NAMED_FIELDS)
        for resource_id, name in first.values_list("resource_id", "name"):
            names[resource_id].append(name)
        rows = []
        for each in resources:
            version, named = each.table_version, ", ".join(names[each.pk][:_MAX_NAMED_FIELDS])
            named = f"{named}, …" if vars(each)["field_count"] > _MAX_NAMED_FIELDS else named
            texts = each.local_title.text, each.local_description.text
            rows.append([str(each.pk), *texts, version.record_count if version else 0, named])
        total = found.count() if readable.is_complete else None
        return write_page(_COLUMNS, rows, total=total, offset=offset)

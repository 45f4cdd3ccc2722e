"""The files that a data page offers: all records that it finds, and their Table Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from ....downloads.dump import choose_headers
from ....downloads.formats import DumpFormat, formats
from ....filters.names import quote_name
from ....models import Resource
from ....web.addresses import find_path, reverse_in_locale
from ..api_parameters import build_query_parameters
from .columns import choose_names
from .page_query import PageQuery
from .records import RecordTable

#: The records of the smallest table whose packed files are offered; a megabyte or so.
_MIN_PACKED_RECORDS = 10_000


#: About the bytes that a format writes for a byte of values, for a byte of names, and once.
_SIZES: Mapping[object, tuple[float, float, int]] = {
    **dict.fromkeys(("csv", "csv-excel", "tsv"), (1, 0, 0)),
    "json": (1.15, 0, 0),
    "ndjson": (1.15, 1.2, 0),
    "xml": (1.15, 2, 0),
    "xlsx": (0.55, 0, 6_000),
}


def list_downloads(
    request: HttpRequest,
    resource: Resource,
    asked: PageQuery,
    table: RecordTable,
    *,
    has_places: bool,
) -> list[dict[str, Any]]:
    """
    List the records that a page asks for in each format of the dump, and their schema.

    There is nothing without a dump.  Each group is a form: a title that ends in a colon, ``hidden``
    parameters, and a button for each file.

    Where fields have labels, the formats with headers are offered with labels too; where there are
    many records, the formats of text are offered packed.
    """
    try:
        path = reverse_in_locale(request, "dump", resource.pk)
    except NoReverseMatch:
        return []
    parameters = build_query_parameters(asked.build_search(None))
    names = choose_names((field.name for field in resource.schema), asked)
    if asked.has_chosen_columns and names:
        parameters["fields"] = ",".join(map(quote_name, names))
    value_bytes = (len(names) + 1) * (table.value_bytes + 1)
    name_bytes = sum(len(name.encode()) for name in names)
    kinds = [each for each in formats.values() if each.is_installed]
    kinds = [each for each in kinds if has_places or not each.needs_places]
    groups: list[tuple[str, str, Mapping[str, str], Iterable[DumpFormat]]] = [
        ("all", _("Download all records found:"), {}, kinds)
    ]
    if choose_headers(names, resource.infos[get_language()]) != names:
        title = _("With labels instead of column names:")
        with_header = [kind for kind in kinds if kind.has_header]
        groups.append(("labels", title, {"headers": "labels"}, with_header))
    version = resource.table_version
    if version is not None and version.record_count >= _MIN_PACKED_RECORDS:
        title = _("Compressed, as smaller files (gzip):")
        groups.append(("packed", title, {"gzip": "true"}, [kind for kind in kinds if kind.is_text]))

    def measure(kind: DumpFormat) -> int:
        of_values, of_names, once = _SIZES.get(kind.name, (0, 0, 0))
        return round((of_values * value_bytes + of_names * name_bytes) * table.total + once)

    return [
        {
            "name": name,
            "title": title,
            "path": path,
            "hidden": {**options, **parameters},
            "files": [(kind, "gzip" not in options and measure(kind)) for kind in kinds],
            "schema": name == "all" and find_path(request, "schema", resource.pk),
        }
        for name, title, options, kinds in groups
    ]

"""The files that a data page offers: all records that it finds, and their Table Schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
from ..links import add_query_string
from .columns import choose_names
from .page_query import PageQuery

#: The records of the smallest table whose packed files are offered; a megabyte or so.
_MIN_PACKED_RECORDS = 10_000


@dataclass(frozen=True, slots=True)
class Download:
    """The label and the address of a file."""

    label: str
    address: str


def list_downloads(
    request: HttpRequest, resource: Resource, asked: PageQuery, *, has_places: bool
) -> list[dict[str, Any]]:
    """
    List the records that a page asks for in each format of the dump, and their schema.

    There is nothing without a dump.  Files are in groups, each with a title that ends in a colon.

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
    kinds = [
        kind
        for kind in formats.values()
        if kind.is_installed and (has_places or not kind.needs_places)
    ]

    def build_group(
        name: str, title: str, kinds: Iterable[DumpFormat], **options: str
    ) -> dict[str, Any]:
        files = []
        for kind in kinds:
            asked = {"format": kind.name, **options, **parameters}
            files.append(Download(str(kind.label), add_query_string(path, asked.items())))
        return {"name": name, "title": title, "downloads": files}

    everything = build_group("all", _("Download all records found:"), kinds)
    if schema := find_path(request, "schema", resource.pk):
        everything["downloads"].append(Download("Table Schema", schema))
    groups = [everything]
    if choose_headers(names, resource.infos[get_language()]) != names:
        title = _("With labels instead of column names:")
        with_header = [kind for kind in kinds if kind.has_header]
        groups.append(build_group("labels", title, with_header, headers="labels"))
    version = resource.table_version
    if version is not None and version.record_count >= _MIN_PACKED_RECORDS:
        title = _("Compressed, as smaller files (gzip):")
        of_text = [kind for kind in kinds if kind.is_text]
        groups.append(build_group("packed", title, of_text, gzip="true"))
    return groups

"""
The formats of a dump: one table.

Source: CKAN's dump for CSV, TSV, JSON and XML, to the last blank, but for numbers: their digits are
PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from ..contributions import Table
from ..messages.search import FormatNotInstalled, NoHeaderRow
from .dump import Dump, compress_blocks
from .text_rows import write_delimited, write_excel_csv, write_json, write_ndjson
from .xml_rows import write_xml

GZIP_TYPE = "application/gzip"


_find_package = cache(find_spec)


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """
    One format, and what writes its blocks: it checks the query at once, and reads when iterated.

    ``package`` is an optional library that writes it.  A format that ``needs_places`` is offered
    only for records with places.  The first row of one that ``has_header`` names the columns.
    One that ``is_stored`` may be kept as a file of a version of a public resource.  ``sizes`` are
    about the bytes that it writes for a byte of values, for a byte of names, and once; pages
    estimate by them, unless all are 0.
    """

    name: str
    label: str | Promise
    media_type: str
    write: Callable[[Dump], Generator[bytes]]
    is_text: bool = True
    has_header: bool = False
    package: str = ""
    needs_places: bool = False
    is_stored: bool = False
    sizes: tuple[float, float, int] = (0, 0, 0)

    @property
    def extension(self) -> str:
        """The extension of the file's name: the format's name up to a hyphen."""
        return self.name.partition("-")[0]

    @property
    def content_type(self) -> str:
        return f"{self.media_type}; charset=utf-8" if self.is_text else self.media_type

    @property
    def truncation_mark(self) -> bytes:
        """
        The last line of a text that could not be sent whole, which would look complete without it.

        It begins with a quotation mark that is never closed.
        """
        mark = _("This file is incomplete: the server could not send the rest.")
        return f'"{mark}\n'.encode() if self.is_text else b""

    @property
    def is_installed(self) -> bool:
        return not self.package or _find_package(self.package) is not None

    def write_blocks(self, dump: Dump, *, gzip: bool = False) -> Generator[bytes]:
        """
        Write the file in blocks; empty ones report work, as ``search.Stream`` has it.

        Raises: ``FormatNotInstalled``; ``NoHeaderRow``; ``InvalidParameters``, what does not fit
        the fields.
        """
        if not self.is_installed:
            raise FormatNotInstalled(format=str(self.label), package=self.package)
        if dump.has_labels and not self.has_header:
            raise NoHeaderRow(format=str(self.label))
        blocks = self.write(dump)
        return compress_blocks(blocks) if gzip else blocks


formats: Table[DumpFormat] = Table("download formats")
formats.add(
    DumpFormat(
        "csv",
        "CSV",
        "text/csv",
        partial(write_delimited, delimiter=","),
        has_header=True,
        is_stored=True,
        sizes=(1, 0, 0),
    ),
    DumpFormat(
        "csv-excel",
        gettext_lazy("CSV for Excel"),
        "text/csv",
        write_excel_csv,
        has_header=True,
        sizes=(1, 0, 0),
    ),
    DumpFormat(
        "tsv",
        "TSV",
        "text/tab-separated-values",
        partial(write_delimited, delimiter="\t"),
        has_header=True,
        sizes=(1, 0, 0),
    ),
    DumpFormat("json", "JSON", "application/json", write_json, sizes=(1.15, 0, 0)),
    DumpFormat("ndjson", "NDJSON", "application/x-ndjson", write_ndjson, sizes=(1.15, 1.2, 0)),
    DumpFormat("xml", "XML", "text/xml", write_xml, sizes=(1.15, 2, 0)),
)

DEFAULT = "csv"

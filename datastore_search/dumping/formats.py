"""
The formats of a dump: one table.

Source: CKAN's dump for CSV, TSV, JSON and XML, to the last blank, but for numbers: their digits are
PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..exceptions.dumps import FormatNotInstalled
from .delimited import write_delimited, write_excel_csv
from .dump import Dump, compress_blocks
from .geojson import write_geojson
from .json_rows import write_json, write_ndjson
from .parquet import write_parquet
from .workbook import write_workbook
from .xml_rows import write_xml

GZIP_TYPE = "application/gzip"


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """
    One format, and what writes its blocks: it checks the query at once, and reads when iterated.

    A format ``needs_mark`` if a truncated file looks complete; ``truncation_mark`` is then written.
    ``package`` is what writes it, where a portal may lack that.  A format that ``needs_places`` is
    only of records that have places.
    """

    label: str | Promise
    content_type: str
    extension: str
    write: Callable[[Dump], Generator[bytes]]
    needs_mark: bool = False
    package: str = ""
    needs_places: bool = False

    @property
    def truncation_mark(self) -> bytes:
        """A line, after a quotation mark that is never closed; written when the rows break off."""
        mark = _("This file is incomplete: the server could not send the rest.")
        return f'"{mark}\n'.encode() if self.needs_mark else b""

    @property
    def is_text(self) -> bool:
        """Return whether the file is text."""
        return "charset" in self.content_type

    @property
    def is_installed(self) -> bool:
        """Return whether this portal can write the format."""
        return not self.package or _is_installed(self.package)

    def write_blocks(self, dump: Dump, *, gzip: bool = False) -> Generator[bytes]:
        """
        Write the file in blocks; empty ones report work, as ``search.Stream`` has it.

        Raises: ``FormatNotInstalled``; ``InvalidParameters``, what does not fit the fields.
        """
        if not self.is_installed:
            raise FormatNotInstalled(format=str(self.label), package=self.package)
        blocks = self.write(dump)
        return compress_blocks(blocks) if gzip else blocks


@cache
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None


formats: Mapping[str, DumpFormat] = {
    "csv": DumpFormat(
        label="CSV",
        content_type="text/csv; charset=utf-8",
        extension="csv",
        write=partial(write_delimited, delimiter=","),
        needs_mark=True,
    ),
    "csv-excel": DumpFormat(
        label=gettext_lazy("CSV for Excel"),
        content_type="text/csv; charset=utf-8",
        extension="csv",
        write=write_excel_csv,
        needs_mark=True,
    ),
    "tsv": DumpFormat(
        label="TSV",
        content_type="text/tab-separated-values; charset=utf-8",
        extension="tsv",
        write=partial(write_delimited, delimiter="\t"),
        needs_mark=True,
    ),
    "xlsx": DumpFormat(
        label="Excel (XLSX)",
        content_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        extension="xlsx",
        write=write_workbook,
        package="xlsxwriter",
    ),
    "parquet": DumpFormat(
        label="Parquet",
        content_type="application/vnd.apache.parquet",
        extension="parquet",
        write=write_parquet,
        package="pyarrow",
    ),
    "json": DumpFormat(
        label="JSON",
        content_type="application/json; charset=utf-8",
        extension="json",
        write=write_json,
    ),
    "ndjson": DumpFormat(
        label="NDJSON",
        content_type="application/x-ndjson; charset=utf-8",
        extension="ndjson",
        write=write_ndjson,
    ),
    "geojson": DumpFormat(
        label="GeoJSON",
        content_type="application/geo+json; charset=utf-8",
        extension="geojson",
        write=write_geojson,
        needs_places=True,
    ),
    "xml": DumpFormat(
        label="XML",
        content_type="text/xml; charset=utf-8",
        extension="xml",
        write=write_xml,
    ),
}

DEFAULT = "csv"

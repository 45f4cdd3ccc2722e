"""The app that loads files."""

from __future__ import annotations

from collections.abc import Iterator

import django

from ...apps import ContribAppConfig
from ...contributions import Contribution, receive


class FilesConfig(ContribAppConfig):
    packages = {
        "chardet": "files",
        "duckdb": "files",
        "python_calamine": "files",
        "xlrd": "files",
        **({"django_tasks": "files"} if django.VERSION < (6, 0) else {}),
    }

    def contribute(self) -> Iterator[Contribution]:
        from ...admin.parts import parts
        from ...database.findings import cleanups, finders
        from ...downloads.formats import DumpFormat, formats
        from ...signals import profiles_outdated
        from .admin.part import loads_of_resource
        from .downloads.parquet import write_parquet
        from .downloads.workbook import write_workbook
        from .jobs.cleanup import find_leftovers
        from .jobs.queue import clean_up, queue_renewal

        yield parts.entries(loads_of_resource)
        yield finders.entries(find_leftovers)
        yield cleanups.entries(clean_up)
        yield receive(profiles_outdated, queue_renewal)
        yield formats.entries(
            DumpFormat(
                "xlsx",
                "Excel (XLSX)",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                write_workbook,
                is_text=False,
                has_header=True,
                package="xlsxwriter",
            ),
            DumpFormat(
                "parquet",
                "Parquet",
                "application/vnd.apache.parquet",
                write_parquet,
                is_text=False,
                package="pyarrow",
            ),
        )

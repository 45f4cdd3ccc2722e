"""The app that loads files."""

from __future__ import annotations

import django

from ...apps import ContribAppConfig


class FilesConfig(ContribAppConfig):
    """Loads of files."""

    packages = {
        "chardet": "files",
        "duckdb": "files",
        "python_calamine": "files",
        "xlrd": "files",
        **({"django_tasks": "files"} if django.VERSION < (6, 0) else {}),
    }

    def register(self) -> None:
        """Add the downloads in Excel and Parquet, clean-ups, and parts of the admin."""
        from ...admin import parts
        from ...database.findings import cleanups, finders
        from ...downloads import formats
        from ...signals import profiles_outdated
        from .admin.part import loads_of_resource
        from .downloads.parquet import write_parquet
        from .downloads.workbook import write_workbook
        from .jobs.leftovers import clean_up, find_leftovers
        from .jobs.queue import queue_renewal

        parts.register(loads_of_resource)
        profiles_outdated.connect(queue_renewal)
        finders["loads"], cleanups["loads"] = find_leftovers, clean_up
        formats.register(
            formats.DumpFormat(
                "xlsx",
                "Excel (XLSX)",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                write_workbook,
                is_text=False,
                has_header=True,
                package="xlsxwriter",
            ),
            formats.DumpFormat(
                "parquet",
                "Parquet",
                "application/vnd.apache.parquet",
                write_parquet,
                is_text=False,
                package="pyarrow",
            ),
        )

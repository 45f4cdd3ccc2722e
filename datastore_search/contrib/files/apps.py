"""The app that loads files."""

from __future__ import annotations

from collections.abc import Iterator

import django
from django.db.models.signals import post_save
from django.utils.translation import gettext_lazy as _

from ...apps import ContribAppConfig
from ...contributions import Contribution, receive


class FilesConfig(ContribAppConfig):
    verbose_name = _("Files")
    packages = {
        "chardet": "files",
        "duckdb": "files",
        "python_calamine": "files",
        "xlrd": "files",
        **({"django_tasks": "files"} if django.VERSION < (6, 0) else {}),
    }

    def contribute(self) -> Iterator[Contribution]:
        from ...admin.parts import parts
        from ...api.actions import actions
        from ...api.uploads import uploads
        from ...database.findings import cleanups, finders
        from ...downloads.formats import DumpFormat, formats
        from ...downloads.stored import open_stored
        from ...models import Resource
        from ...signals import orders_wanted
        from ...web.addresses import routes
        from .admin.part import loads_of_resource
        from .downloads import stored
        from .downloads.parquet import write_parquet
        from .downloads.workbook import write_workbook
        from .jobs.cleanup import find_leftovers
        from .jobs.queue import clean_up
        from .resource_files import (
            clean_up as clean_up_files,
            file_actions,
            find_missing_files,
            store,
        )
        from .tables.orders import note_orders

        yield parts.entries(loads_of_resource)
        yield finders.entries(find_leftovers, find_missing_files)
        yield cleanups.entries(clean_up, stored.clean_up, clean_up_files)
        yield actions.entries(*file_actions)
        yield uploads.entries(store)
        yield routes.entries(f"{self.name}.urls")
        yield open_stored.entries(stored.open_download)
        yield receive(post_save, stored.discard_saved, Resource)
        yield receive(orders_wanted, note_orders, Resource)
        yield formats.entries(
            DumpFormat(
                "xlsx",
                "Excel (XLSX)",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                write_workbook,
                is_text=False,
                has_header=True,
                package="xlsxwriter",
                sizes=(0.55, 0, 6_000),
            ),
            DumpFormat(
                "parquet",
                "Parquet",
                "application/vnd.apache.parquet",
                write_parquet,
                is_text=False,
                package="pyarrow",
                is_stored=True,
            ),
        )

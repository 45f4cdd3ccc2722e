"""Find what is damaged in the tables of the app, and mend it by choice."""

from __future__ import annotations

import json
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error
from psycopg.errors import LockNotAvailable

from .....database.findings import Finding
from .....database.server import report_refusal
from .....messages import DatastoreError
from ...doctor import diagnose


class Command(BaseCommand):
    help = "Find damage in functions, triggers, tables and indexes; --fix repairs it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--fix", action="store_true", help="repair what can be repaired without losing data"
        )
        parser.add_argument(
            "--count", action="store_true", help="count the records of every resource, too"
        )
        parser.add_argument("--json", action="store_true", help="print a JSON list")
        parser.add_argument(
            "--tables",
            action="store_true",
            help="only print what each app adds: actions, formats, sections and others",
        )

    @report_refusal()
    def handle(self, *args: Any, **options: Any) -> None:
        if options["tables"]:
            lines = {  # a receiver may get several signals
                f"{app.name} · {each.kind}: {', '.join(each.names)}": None
                for app in apps.get_app_configs()
                for each in getattr(app, "contributions", ())
            }
            self.stdout.write("\n".join(lines))
            return
        rows = []
        for finding in diagnose(count_records=options["count"]):
            row = {
                "code": finding.code,
                "name": finding.name,
                "message": finding.message,
                "is_damage": finding.is_damage,
                "can_be_fixed": finding.mend is not None,
                "is_fixed": options["fix"] and self._mend(finding),
            }
            rows.append(row)
            if not options["json"]:
                line = f"{finding.code} {finding.name}: {finding.message}"
                failed = " Not fixed." if options["fix"] else " --fix repairs it."
                fixed = " Fixed." if row["is_fixed"] else failed
                self.stdout.write(line + fixed if row["can_be_fixed"] else line)
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        left = sum(1 for row in rows if row["is_damage"] and not row["is_fixed"])
        if left:
            raise CommandError(f"Damaged: {left}.")
        if not options["json"]:
            self.stdout.write("Nothing is damaged.")

    def _mend(self, finding: Finding) -> bool:
        if finding.mend is None:
            return False
        try:
            finding.mend()
        # Locked by another process, not permitted to this role, no room on the disk.
        except (Error, OSError, DatastoreError) as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            if isinstance(error.__cause__, LockNotAvailable):
                reason = "The table is in use. Try again later."
            self.stderr.write(f"{finding.code} {finding.name}: {reason}")
            return False
        return True

"""The machine and the versions of a measurement."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime

import django
from django.db import connections, router

from datastore_search.models import Load

from .load_generators import uses_wrk
from .options import Options


def describe_environment(options: Options) -> list[str]:
    """Name the versions, the cores, the workers and threads, the load generator and the day."""
    connection = connections[router.db_for_read(Load)]
    release, patch = connection.get_database_version()
    return [
        f"PostgreSQL {release}.{patch}",
        f"Python {platform.python_version()}",
        f"Django {django.get_version()}",
        f"workers: {options.workers}",
        f"threads of each: {options.threads}",
        f"cores: {os.cpu_count()}",
        f"driven by {'wrk' if uses_wrk(options.seconds) else 'threads'}",
        f"{datetime.now(UTC):%Y-%m-%d}",
    ]

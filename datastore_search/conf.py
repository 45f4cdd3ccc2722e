"""
Settings.

Each property reads one Django setting, ``DATASTORE_SEARCH_<NAME>``, when it is first used, and
again after the signal ``setting_changed``, which tests send.  A search uses seven of them, and
Django takes two microseconds to find that one is not set.  The reference is
``docs/reference/settings.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import cast

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver


class Settings:
    """The app's settings with their defaults."""

    @cached_property
    def LIMIT_DEFAULT(self) -> int:
        """Records of an answer when ``limit`` is not given."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LIMIT_DEFAULT", 100))

    @cached_property
    def LIMIT_MAX(self) -> int:
        """Records of an answer at most; a higher ``limit`` becomes this."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LIMIT_MAX", 32_000))

    @cached_property
    def SEARCH_BODY_MAX_BYTES(self) -> int:
        """Size of the body of a request that only reads."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SEARCH_BODY_MAX_BYTES", 1 * 2**20))

    @cached_property
    def WRITE_BODY_MAX_BYTES(self) -> int:
        """Size of the body of a request that writes, of a user who is known."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_WRITE_BODY_MAX_BYTES", 100 * 2**20))

    @cached_property
    def WRITE_RECORDS_MAX(self) -> int:
        """Records in one call."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_WRITE_RECORDS_MAX", 100_000))

    @cached_property
    def SEARCH_LANGUAGE(self) -> str:
        """PostgreSQL text search configuration of a new resource."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_SEARCH_LANGUAGE", "english"))

    @cached_property
    def STATEMENT_TIMEOUT(self) -> timedelta:
        """How long one statement of a search may run."""
        return cast(
            timedelta,
            getattr(settings, "DATASTORE_SEARCH_STATEMENT_TIMEOUT", timedelta(seconds=60)),
        )

    @cached_property
    def ANONYMOUS_STATEMENT_TIMEOUT(self) -> timedelta:
        """How long one statement of a search may run for a client that is not authenticated."""
        return cast(
            timedelta,
            getattr(
                settings, "DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT", timedelta(seconds=15)
            ),
        )

    @cached_property
    def SLOW_STATEMENTS_MAX(self) -> int:
        """Slow statements that a process runs at once, at most."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SLOW_STATEMENTS_MAX", 1))

    @cached_property
    def LOCK_TIMEOUT(self) -> timedelta:
        """How long a write waits for another one of the same resource."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_LOCK_TIMEOUT", timedelta(seconds=10))
        )

    @cached_property
    def DUMP_TIMEOUT(self) -> timedelta:
        """How long a dump may take, from its first record until the client has the last."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_DUMP_TIMEOUT", timedelta(hours=1))
        )

    @cached_property
    def STREAMS_MAX(self) -> int:
        """Dumps and large answers that each process sends at once."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_STREAMS_MAX", 2))

    @cached_property
    def STREAM_MIN_BYTES_PER_SECOND(self) -> int:
        """How fast a client must take a dump or a large answer, or it is cut off; 0: any."""
        return cast(
            int, getattr(settings, "DATASTORE_SEARCH_STREAM_MIN_BYTES_PER_SECOND", 16 * 2**10)
        )

    @cached_property
    def SPOOL_MAX_BYTES(self) -> int:
        """Size at most of an answer that waits in a file until it is sent."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SPOOL_MAX_BYTES", 1 * 2**30))

    @cached_property
    def SPOOL_FOLDER(self) -> str:
        """Folder of those files; the system's folder of temporary files if empty."""
        return str(getattr(settings, "DATASTORE_SEARCH_SPOOL_FOLDER", ""))

    @cached_property
    def PAGES_VERSION(self) -> str:
        """
        Version of the portal's templates, and of all that its pages show besides records.

        With a version, a client's copy of an unchanged page is confirmed by 304.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_PAGES_VERSION", ""))

    @cached_property
    def AUTHENTICATION_CLASSES(self) -> Sequence[str]:
        """Dotted paths of the API's authentication classes."""
        return cast(
            Sequence[str],
            getattr(
                settings,
                "DATASTORE_SEARCH_AUTHENTICATION_CLASSES",
                ("datastore_search.api.authentication.BareTokenAuthentication",),
            ),
        )

    @cached_property
    def SEARCH_MEMORY_BYTES(self) -> int:
        """Memory that PostgreSQL may take for each sort or set of matches of a search."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SEARCH_MEMORY_BYTES", 64 * 2**20))

    @cached_property
    def INDEXES(self) -> Sequence[str]:
        """Which indexes the table of a resource gets that does not choose its own."""
        return cast(
            Sequence[str],
            getattr(
                settings,
                "DATASTORE_SEARCH_INDEXES",
                ("filters", "words", "numbers", "dates", "texts"),
            ),
        )

    @cached_property
    def LOAD_MEMORY_BYTES(self) -> int:
        """Memory that a load may take for reading, and PostgreSQL for each index it makes."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LOAD_MEMORY_BYTES", 256 * 2**20))

    @cached_property
    def LOAD_CONNECTIONS(self) -> int:
        """Connections over which a load fills and indexes its table at once."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LOAD_CONNECTIONS", 2))

    @cached_property
    def LOAD_WAIT_TIMEOUT(self) -> timedelta:
        """How long a load waits for another load of its resource."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_LOAD_WAIT_TIMEOUT", timedelta(hours=2))
        )

    @cached_property
    def UPLOAD_MAX_BYTES(self) -> int:
        """Size of an uploaded file at most."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_UPLOAD_MAX_BYTES", 1 * 2**30))

    @cached_property
    def UPLOADS_STORAGE(self) -> str:
        """Alias in ``STORAGES`` of where uploads wait; ``default`` if there is no such alias."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_UPLOADS_STORAGE", "datastore_search"))

    @cached_property
    def KEEP_UPLOADS(self) -> timedelta:
        """How long the upload of a load that was not ready, and a draft, are kept."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_KEEP_UPLOADS", timedelta(days=7))
        )

    @cached_property
    def KEEP_UNSERVED(self) -> timedelta:
        """How long a table is kept that was served and has lost its resource."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_KEEP_UNSERVED", timedelta(days=1))
        )

    @cached_property
    def TASKS_BACKEND(self) -> str:
        """Alias in ``TASKS`` of the backend that runs loads."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_TASKS_BACKEND", "default"))

    @cached_property
    def TASKS_QUEUE(self) -> str:
        """Name of the queue of that backend."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_TASKS_QUEUE", "default"))

    @cached_property
    def UNPACKED_MAX_BYTES(self) -> int:
        """Size at most of what a zip or gzip is unpacked to."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_UNPACKED_MAX_BYTES", 10 * 2**30))

    @cached_property
    def UNPACKED_RATIO_MAX(self) -> int:
        """How many times as large as a zip or gzip its content may be; more is an attack."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_UNPACKED_RATIO_MAX", 200))

    @cached_property
    def READ_MEMORY_BYTES(self) -> int:
        """Memory that the process may take that reads a file; a workbook gets more by its size."""
        most = self.LOAD_MEMORY_BYTES + 256 * 2**20
        return cast(int, getattr(settings, "DATASTORE_SEARCH_READ_MEMORY_BYTES", most))

    @cached_property
    def READ_CPU_SECONDS(self) -> float:
        """Processor time that reading any file may take, however small."""
        return cast(float, getattr(settings, "DATASTORE_SEARCH_READ_CPU_SECONDS", 8))

    @cached_property
    def READ_CPU_SECONDS_PER_MB(self) -> float:
        """Processor time more for each MB (2^20 bytes) that the file has when it is unpacked."""
        return cast(float, getattr(settings, "DATASTORE_SEARCH_READ_CPU_SECONDS_PER_MB", 0.25))

    @cached_property
    def READ_TIMEOUT(self) -> timedelta:
        """How long reading a file may take in all, whatever it waits for."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_READ_TIMEOUT", timedelta(hours=1))
        )

    @cached_property
    def FETCH_MAX_BYTES(self) -> int:
        """Size of a file fetched from a URL at most."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_FETCH_MAX_BYTES", 1 * 2**30))

    @cached_property
    def FETCH_TIMEOUT(self) -> timedelta:
        """How long fetching a file may take, redirects and all."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_FETCH_TIMEOUT", timedelta(minutes=30))
        )

    @cached_property
    def FETCH_SILENCE(self) -> timedelta:
        """How long a server may be silent while a file is fetched from it."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_FETCH_SILENCE", timedelta(seconds=30))
        )

    @cached_property
    def FETCH_PRIVATE_HOSTS(self) -> Sequence[str]:
        """Servers, ``name`` or ``name:port``, that may be fetched from although not public."""
        return cast(Sequence[str], getattr(settings, "DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS", ()))


conf = Settings()


@receiver(setting_changed)
def _clear_cached_settings(*, setting: str, **_signal: object) -> None:
    if setting.startswith("DATASTORE_SEARCH_"):
        vars(conf).clear()  # some settings are the default of others

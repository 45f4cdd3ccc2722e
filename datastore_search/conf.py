"""
Settings.

Each property reads one Django setting, ``DATASTORE_SEARCH_<NAME>``, when it is first used, and
again after the signal ``setting_changed``, which tests send.  A search uses seven of them, and
Django takes two microseconds to find that one is not set.

The docstrings, in Markdown, and the defaults are the table of ``docs/reference/settings.md``, which
``make reference`` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import cast

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver


class Settings:
    """The app's settings with their defaults."""

    @cached_property
    def DEFAULT_LIMIT(self) -> int:
        """Records of an answer when `limit` is not given."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_DEFAULT_LIMIT", 100))

    @cached_property
    def MAX_LIMIT(self) -> int:
        """Maximum records of an answer; a higher `limit` is reduced to this."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_LIMIT", 32_000))

    @cached_property
    def MAX_SEARCH_BODY_BYTES(self) -> int:
        """
        Maximum size of the body of a request that only reads, and of one that writes [without a
        valid token](writing.md#size). A larger one is 413 and is not read, also if
        `DATA_UPLOAD_MAX_MEMORY_SIZE` allows it.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_SEARCH_BODY_BYTES", 1 * 2**20))

    @cached_property
    def MAX_WRITE_BODY_BYTES(self) -> int:
        """
        Maximum size of the body of a request that writes, with a valid token. The call needs up to
        ten times as much memory.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_WRITE_BODY_BYTES", 100 * 2**20))

    @cached_property
    def MAX_WRITE_RECORDS(self) -> int:
        """Maximum records in one call of `datastore_create` or `datastore_upsert`."""
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_WRITE_RECORDS", 100_000))

    @cached_property
    def SEARCH_LANGUAGE(self) -> str:
        """
        Full-text language of a new resource: the name of a PostgreSQL text search configuration.
        `simple` has no word forms of any language.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_SEARCH_LANGUAGE", "english"))

    @cached_property
    def STATEMENT_TIMEOUT(self) -> timedelta:
        """
        Time limit of one statement of a search. An answer needs at most three long ones, and one
        more with each of `include_next_page` and `highlight`. Writes have no limit.
        """
        return cast(
            timedelta,
            getattr(settings, "DATASTORE_SEARCH_STATEMENT_TIMEOUT", timedelta(seconds=60)),
        )

    @cached_property
    def ANONYMOUS_STATEMENT_TIMEOUT(self) -> timedelta:
        """
        The same for a client without a valid token or session, and the time limit of the first
        block of its dump. The shorter of both settings applies.
        """
        return cast(
            timedelta,
            getattr(
                settings, "DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT", timedelta(seconds=15)
            ),
        )

    @cached_property
    def FACETS_TIMEOUT(self) -> timedelta:
        """
        Time limit of all facets of a call together, and of its suggestions; that of a search holds,
        too. What takes longer is [answered incompletely](facets-and-aggregates.md#complete).
        """
        return cast(
            timedelta,
            getattr(settings, "DATASTORE_SEARCH_FACETS_TIMEOUT", timedelta(seconds=2)),
        )

    @cached_property
    def MAX_SLOW_STATEMENTS(self) -> int:
        """
        [Slow statements](../how-to/deploy.md#slow-queries-and-disconnected-clients) of searches
        that a process runs at once. A statement is slow after half a second, or after a tenth while
        all slots are occupied. One more is cancelled (503). When that happens three times in five
        seconds, the process starts only as many possibly slow searches as there are slots, for a
        while. The sum of this setting and `MAX_STREAMS` should be smaller than the number of
        threads of a process.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_SLOW_STATEMENTS", 1))

    @cached_property
    def LOCK_TIMEOUT(self) -> timedelta:
        """
        Time that a write, or a change in the admin, waits for another change of the same resource
        (then 503). Loads wait without limit.
        """
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_LOCK_TIMEOUT", timedelta(seconds=10))
        )

    @cached_property
    def SEARCH_MEMORY_BYTES(self) -> int:
        """
        Memory that PostgreSQL may use for each sort, or set of matches, of a search or a dump (its
        `work_mem`). A statement may have several, and so may each of its parallel workers.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SEARCH_MEMORY_BYTES", 64 * 2**20))

    @cached_property
    def DUMP_TIMEOUT(self) -> timedelta:
        """Time limit of a [dump](dump.md), until the client has received the last record."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_DUMP_TIMEOUT", timedelta(hours=1))
        )

    @cached_property
    def FILE_TIMEOUT(self) -> timedelta:
        """
        Time limit for a file that must be whole before it is sent, which is a workbook of Excel. It
        takes the processor for about one second for each 100,000 cells. What takes longer is 409.
        """
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_FILE_TIMEOUT", timedelta(minutes=1))
        )

    @cached_property
    def MAX_STREAMS(self) -> int:
        """
        Dumps and answers of more than 4 MB that each process sends at once. Each occupies a
        connection to the database or a file while its client reads, and under WSGI a thread: leave
        threads for other requests. One more gets 503 with `Retry-After`.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_STREAMS", 2))

    @cached_property
    def MIN_STREAM_BYTES_PER_SECOND(self) -> int:
        """
        Minimum speed at which a client must read a dump or an answer of more than 4 MB. A client
        that reads less over 30 seconds is disconnected; the time of PostgreSQL does not count. `0`
        means no minimum.
        """
        return cast(
            int, getattr(settings, "DATASTORE_SEARCH_MIN_STREAM_BYTES_PER_SECOND", 16 * 2**10)
        )

    @cached_property
    def MAX_SPOOL_BYTES(self) -> int:
        """
        Maximum size of an answer that waits in a file until it is sent, which is every answer of
        more than 4 MB, and every workbook of Excel (its unpacked rows count twice). A larger one
        is 409. Dumps in other formats have no such limit, because they need no file.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_SPOOL_BYTES", 1 * 2**30))

    @cached_property
    def SPOOL_FOLDER(self) -> str:
        """
        The folder of these files; if empty, the system's folder of temporary files (`TMPDIR`). It
        must exist, on a disk and not in memory, with room for `MAX_STREAMS` times `MAX_SPOOL_BYTES`
        for each process. A file has no name and disappears with its process.
        """
        return str(getattr(settings, "DATASTORE_SEARCH_SPOOL_FOLDER", ""))

    @cached_property
    def THROTTLE_RATES(self) -> Mapping[str, Sequence[str]]:
        """
        How often a client may ask the API, dumps and pages [together](../how-to/deploy.md#quotas):
        lists of rates such as `"120/minute"` and `"20000/day"`, for `"anonymous"` by address and
        for `"authenticated"` by user. A kind without a list is not limited; without the setting,
        nothing is counted.
        """
        return cast(
            Mapping[str, Sequence[str]], getattr(settings, "DATASTORE_SEARCH_THROTTLE_RATES", {})
        )

    @cached_property
    def SLOW_REQUEST_MS(self) -> int:
        """
        Milliseconds after which an answer to a request is slow. Each slow one is [a line in the
        log](../how-to/operate.md#slow-requests), without the values of its parameters. `0` means
        that nothing is measured.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_SLOW_REQUEST_MS", 1_000))

    @cached_property
    def AUTHENTICATION_CLASSES(self) -> Sequence[str]:
        """
        Dotted paths of the API's authentication classes (Django REST framework's), tried in this
        order. The app's own class accepts a bare token and leaves other schemes, such as `Bearer
        …`, to the next class; another one accepts it in `X-CKAN-API-Key`. See
        [deployment](../how-to/deploy.md#permissions-and-authentication).
        """
        return cast(
            Sequence[str],
            getattr(
                settings,
                "DATASTORE_SEARCH_AUTHENTICATION_CLASSES",
                ("datastore_search.api.authentication.BareTokenAuthentication",),
            ),
        )

    @cached_property
    def INDEXES(self) -> Sequence[str]:
        """The [indexes](#indexes) of a resource that has no choice of its own."""
        return cast(
            Sequence[str],
            getattr(
                settings,
                "DATASTORE_SEARCH_INDEXES",
                ("filters", "words", "numbers", "dates", "texts"),
            ),
        )

    @cached_property
    def LOAD_CONNECTIONS(self) -> int:
        """
        Connections over which a load fills its table and makes its indexes in parallel, in addition
        to the two that it always has: one for its statements and one for its locks. Each uses a
        core of the database server, and a process beside the load builds search vectors. With `1`,
        with a file of at most 10,000 rows (of a wide table, 100,000 cells), and in a transaction of
        the caller, the load uses only the connection of its statements, and PostgreSQL builds them.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LOAD_CONNECTIONS", 2))

    @cached_property
    def LOAD_WAIT_TIMEOUT(self) -> timedelta:
        """
        Time that a load waits for another load of the same resource. After that it fails, and can
        be retried.
        """
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_LOAD_WAIT_TIMEOUT", timedelta(hours=2))
        )

    @cached_property
    def LOAD_MEMORY_BYTES(self) -> int:
        """
        Memory that a load may use for reading the file, in addition to Python's own, and memory
        that PostgreSQL may use for each index (its `maintenance_work_mem`); those of words, values
        and substrings need 8 MiB. `DATASTORE_SEARCH_LOAD_CONNECTIONS` indexes are made at once.
        From PostgreSQL 18 on, as many of its processes make the index of words, of 32 MiB each.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_LOAD_MEMORY_BYTES", 256 * 2**20))

    @cached_property
    def UPLOAD_RETENTION(self) -> timedelta:
        """
        Time for which the upload of a failed or cancelled load is kept, so that it can be retried.
        The same applies to an unused draft. [`datastore_cleanup`](commands.md#datastore_cleanup)
        and the next load of the resource delete older ones.
        """
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_UPLOAD_RETENTION", timedelta(days=7))
        )

    @cached_property
    def UNSERVED_TABLE_RETENTION(self) -> timedelta:
        """
        Time for which a record table is kept that was served, and has lost its resource in another
        way than by loading, writing or deleting through this package. It can be [given
        back](../how-to/back-up-and-restore.md#a-resource-that-has-lost-its-records). The time
        begins when [`datastore_cleanup`](commands.md#datastore_cleanup), or a load of the resource,
        first finds the table. A table that a load replaces is dropped at once.
        """
        return cast(
            timedelta,
            getattr(settings, "DATASTORE_SEARCH_UNSERVED_TABLE_RETENTION", timedelta(days=1)),
        )

    @cached_property
    def UPLOADS_STORAGE(self) -> str:
        """
        The alias in `STORAGES` of the storage in which [uploads wait for their
        load](../how-to/deploy.md#uploads). If there is no such alias, `default` is used.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_UPLOADS_STORAGE", "datastore_search"))

    @cached_property
    def TASKS_BACKEND(self) -> str:
        """The alias in `TASKS` of the backend that [runs loads](../how-to/deploy.md#the-worker)."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_TASKS_BACKEND", "default"))

    @cached_property
    def TASKS_QUEUE(self) -> str:
        """The queue of that backend for loads."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_TASKS_QUEUE", "default"))

    @cached_property
    def MAP_TILES_URL(self) -> str:
        """
        The address of [map tiles](../how-to/deploy.md#map-tiles), with `{z}`, `{x}` and `{y}`.
        Without it maps have none, and no page asks another site for anything.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_MAP_TILES_URL", ""))

    @cached_property
    def MAP_TILES_ATTRIBUTION(self) -> str:
        """Whose tiles they are, as HTML, which the map shows as it is."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_MAP_TILES_ATTRIBUTION", ""))

    @cached_property
    def PNG_FONT(self) -> str:
        """
        The font of [drawings as PNG](../how-to/deploy.md#drawings-as-png), as the server names it.
        Letters that it does not have are taken from other fonts of the server.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_PNG_FONT", "DejaVu Sans"))

    @cached_property
    def SITE_TITLE(self) -> str:
        """The name of the portal, as `status_show` gives it."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_SITE_TITLE", ""))

    @cached_property
    def SITE_DESCRIPTION(self) -> str:
        """What the portal is for, in a sentence, as `status_show` gives it."""
        return cast(str, getattr(settings, "DATASTORE_SEARCH_SITE_DESCRIPTION", ""))

    @cached_property
    def DATASETS(self) -> str:
        """
        The dotted path of the function that gives the portal's [own
        datasets](catalogue.md#datasets-of-the-portals-own). Without it each resource is a dataset
        of its own.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_DATASETS", ""))

    @cached_property
    def PAGES_VERSION(self) -> str:
        """
        The version of the portal's templates and of everything that its data pages show besides
        records. With a version, the page of a resource has an `ETag` for readers who are not signed
        in, and is not rendered again for a reader who has it. Change it whenever the pages change.
        Without a version, pages have no `ETag`.
        """
        return cast(str, getattr(settings, "DATASTORE_SEARCH_PAGES_VERSION", ""))

    @cached_property
    def FRAME_ANCESTORS(self) -> Sequence[str]:
        """
        The sites that may show an [embedded table or chart](../how-to/embed-tables.md#in-a-frame)
        in a frame, as sources of a Content-Security-Policy: `"https://www.example.org"`. `"'self'"`
        is the portal itself. An empty list allows none. Other pages are framed as the portal's own
        headers say.
        """
        return cast(
            Sequence[str], getattr(settings, "DATASTORE_SEARCH_FRAME_ANCESTORS", ("'self'",))
        )

    @cached_property
    def MAX_UPLOAD_BYTES(self) -> int:
        """
        Maximum size of a file that is uploaded in the admin. A larger one is refused before it is
        received, or at the first byte over the limit. The command has no limit.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_UPLOAD_BYTES", 1 * 2**30))

    @cached_property
    def MAX_UNPACKED_BYTES(self) -> int:
        """
        Maximum size of the unpacked content of a file: the content of a zip, a gzip or a workbook,
        and the values of JSON, Parquet and sheets as texts. It is written into the temporary folder
        of the process that loads. DuckDB's temporary files there have the same limit.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_UNPACKED_BYTES", 10 * 2**30))

    @cached_property
    def MAX_UNPACKED_RATIO(self) -> int:
        """
        Maximum ratio of the unpacked content to the file, from 64 MB on. A higher ratio counts as
        an attack. Tables of millions of equal rows may need more.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_UNPACKED_RATIO", 200))

    @cached_property
    def READ_CPU_SECONDS(self) -> float:
        """
        Seconds of processor time for reading any file, for a load or a preview, in [a separate
        process](../decisions/0023-reading-in-a-child-process.md).
        """
        return cast(float, getattr(settings, "DATASTORE_SEARCH_READ_CPU_SECONDS", 8))

    @cached_property
    def READ_CPU_SECONDS_PER_MB(self) -> float:
        """
        Additional seconds for each MB (2^20 bytes) of the unpacked file. A slow machine may need
        more.
        """
        return cast(float, getattr(settings, "DATASTORE_SEARCH_READ_CPU_SECONDS_PER_MB", 0.25))

    @cached_property
    def READ_MEMORY_BYTES(self) -> int:
        """
        Maximum memory of the process that reads a file, Python and its libraries included. A
        workbook may use 16 times its size in addition. macOS does not enforce the limit.
        """
        return cast(
            int,
            getattr(
                settings,
                "DATASTORE_SEARCH_READ_MEMORY_BYTES",
                self.LOAD_MEMORY_BYTES + 256 * 2**20,
            ),
        )

    @cached_property
    def READ_TIMEOUT(self) -> timedelta:
        """Time limit of reading a file, including waits."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_READ_TIMEOUT", timedelta(hours=1))
        )

    @cached_property
    def MAX_FETCH_BYTES(self) -> int:
        """
        Maximum size of a file that is fetched from a URL, both as it is sent and after its content
        coding is removed.
        """
        return cast(int, getattr(settings, "DATASTORE_SEARCH_MAX_FETCH_BYTES", 1 * 2**30))

    @cached_property
    def FETCH_TIMEOUT(self) -> timedelta:
        """Time limit for fetching a file, redirects included."""
        return cast(
            timedelta, getattr(settings, "DATASTORE_SEARCH_FETCH_TIMEOUT", timedelta(minutes=30))
        )

    @cached_property
    def FETCH_IDLE_TIMEOUT(self) -> timedelta:
        """
        Time limit for the next byte while a file is fetched, and for the server to accept a
        connection.
        """
        return cast(
            timedelta,
            getattr(settings, "DATASTORE_SEARCH_FETCH_IDLE_TIMEOUT", timedelta(seconds=30)),
        )

    @cached_property
    def FETCH_PRIVATE_HOSTS(self) -> Sequence[str]:
        """
        Servers without a public address from which files may be fetched:
        `"files.example.internal"`, or with a port, `"10.0.0.5:8080"`, for that port only. Every
        user who may load by URL can then read everything that such a server serves. See [load
        files](../how-to/load-files.md#from-a-url).
        """
        return cast(Sequence[str], getattr(settings, "DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS", ()))


conf = Settings()


@receiver(setting_changed)
def _clear_cached_settings(*, setting: str, **_signal: object) -> None:
    if setting.startswith("DATASTORE_SEARCH_"):
        vars(conf).clear()  # some settings are the default of others

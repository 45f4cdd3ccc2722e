"""
Settings.

Each is declared once: its default, which gives its type; its text, in Markdown; and the values that
it may have.  ``make reference`` writes the defaults and texts into ``docs/reference/settings.md``,
and a system check compares the values of a portal with the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

T = TypeVar("T")

PREFIX: Final = "DATASTORE_SEARCH_"

#: PostgreSQL counts its time limits in milliseconds, as integers of 32 bits.
_MAX_TIMEOUT = timedelta(milliseconds=2**31 - 1)

#: A name or an IPv4 address, an IPv6 one in brackets, either with a port; or an IPv6 one alone.
_SERVER_NAME = r"([\w.-]+|\[[0-9a-fA-F:.%]+\])(:[0-9]{1,5})?|[0-9a-fA-F:.%]+"


class _Kind(NamedTuple):
    """A kind of setting: how a message calls it, its Python types, and the default minimum."""

    noun: str
    types: Any
    minimum: Any = None


_KINDS = {
    str: _Kind("a text", (str,)),
    Path: _Kind("a path", (str, PathLike)),
    int: _Kind("an integer", (int,), 1),
    float: _Kind("a number", (int, float), 0.001),
    timedelta: _Kind("a datetime.timedelta", (timedelta,), timedelta(milliseconds=1)),
    tuple: _Kind("a list of texts", (list, tuple, set, frozenset)),
    dict: _Kind("a mapping", (Mapping,)),
}


@dataclass(eq=False)
class Setting(Generic[T]):
    """
    A Django setting, ``DATASTORE_SEARCH_<NAME>``, as an attribute of ``Settings``.

    It is read when it is first used, and again after the signal ``setting_changed``, which tests
    send.  In between it is an ordinary attribute of the instance: a search uses seven, and Django
    takes two microseconds to find that one is not set.

    The type of the default is its kind, unless another is given.  ``choices``, ``pattern`` and
    ``is_import``, a dotted path of what can be called, are of its text or of each of its texts.
    """

    default: T | Callable[[Settings], T]
    text: str
    kind: Any = None
    minimum: T | None = None
    maximum: T | None = None
    choices: Sequence[str] = ()
    pattern: str = ""
    is_import: bool = False

    def __post_init__(self) -> None:
        self.kind = self.kind or type(self.default)

    def __set_name__(self, owner: type[Settings], name: str) -> None:
        self.name = name

    def __get__(self, conf: Settings, owner: type[Settings]) -> T:
        value = getattr(settings, PREFIX + self.name, self.default)
        if value is self.default and callable(self.default):
            value = self.default(conf)
        vars(conf)[self.name] = value
        return cast(T, value)

    def find_problem(self, value: Any) -> str:
        """Return what is wrong with a value; an empty text if it is valid."""
        noun, types, minimum = _KINDS[self.kind]
        minimum = minimum if self.minimum is None else self.minimum
        if not isinstance(value, types) or isinstance(value, bool):
            return f"It must be {noun}."
        if minimum is not None and not value >= minimum:
            return f"It must be at least {minimum}."
        if self.maximum is not None and value > self.maximum:
            return f"It must be at most {self.maximum}."
        texts = value if self.kind is tuple else [value] if value != self.default else []
        return next(filter(None, map(self._find_problem_of_text, texts)), "")

    def _find_problem_of_text(self, text: Any) -> str:
        if self.kind is tuple and not isinstance(text, str):
            return f"It must be {_KINDS[tuple].noun}."
        if self.choices and text not in self.choices:
            return f"“{text}” is not one of {', '.join(self.choices)}."
        if self.pattern and not re.fullmatch(self.pattern, text):
            return f"“{text}” is not valid."
        try:
            if self.is_import and not callable(import_string(text)):
                return f"“{text}” cannot be called."
        except ImportError as error:
            return str(error)
        return ""


class Settings:
    """The app's settings."""

    DEFAULT_LIMIT = Setting(
        100,
        "Records of an answer when `limit` is not given.",
        minimum=0,
    )
    MAX_LIMIT = Setting(
        32_000,
        "Maximum records of an answer; a higher `limit` is reduced to this.",
        maximum=2**31 - 1,
    )
    MAX_ANONYMOUS_BODY_BYTES = Setting(
        64 * 2**10,
        "Maximum size of the body of a request without a valid token. A larger one is not read,"
        " also if `DATA_UPLOAD_MAX_MEMORY_SIZE` allows it: 413, and 403 where it"
        " [writes](writing.md#size). `filters` with 10,000 values may have 500 kB.",
    )
    MAX_SEARCH_BODY_BYTES = Setting(
        1 * 2**20,
        "Maximum size of the body of a request that only reads, with a valid token. A larger one"
        " is 413 and is not read, also if `DATA_UPLOAD_MAX_MEMORY_SIZE` allows it.",
    )
    MAX_WRITE_BODY_BYTES = Setting(
        100 * 2**20,
        "Maximum size of the body of a request that writes, with the token of a user who may write"
        " some resource. The call needs up to ten times as much memory.",
    )
    MAX_WRITE_RECORDS = Setting(
        100_000,
        "Maximum records in one call of `datastore_create` or `datastore_upsert`.",
    )
    SEARCH_LANGUAGE = Setting(
        "english",
        "Full-text language of a new resource: the name of a PostgreSQL text search"
        " configuration. `simple` has no word forms of any language.",
    )
    STATEMENT_TIMEOUT = Setting(
        timedelta(seconds=60),
        "Time limit of one statement of a search. An answer needs at most three long ones, and"
        " one more with each of `include_next_page` and `highlight`.",
        maximum=_MAX_TIMEOUT,
    )
    ANONYMOUS_STATEMENT_TIMEOUT = Setting(
        timedelta(seconds=15),
        "The same for a client without a valid token or session, and the time limit of the first"
        " block of its dump. The shorter of both settings applies.",
        maximum=_MAX_TIMEOUT,
    )
    FACETS_TIMEOUT = Setting(
        timedelta(seconds=2),
        "Time limit of all facets of a call together, and of its suggestions; that of a search"
        " holds, too. What takes longer is [answered"
        " incompletely](facets-and-aggregates.md#complete).",
        maximum=_MAX_TIMEOUT,
    )
    MAX_SLOTS = Setting(
        3,
        "Requests that may be slow, and calls that write, which a process answers at once: [each"
        " client has its share](../how-to/deploy.md#each-client-has-its-share). The sum of this"
        " setting, `MAX_WAITING` and `MAX_STREAMS` should be smaller than the number of threads of"
        " a process.",
    )
    MAX_SLOTS_PER_CLIENT = Setting(
        1, "How many of these slots one client may hold while another client waits."
    )
    MAX_WAITING = Setting(
        8,
        "Requests that wait for such a slot in a process, at most half of them of one client. One"
        " more of that client is 429; 503 means that so many clients wait.",
    )
    WRITE_TIMEOUT = Setting(
        timedelta(minutes=2),
        "Time limit of each statement of a call that writes. What takes longer is 503, and nothing"
        " is changed.",
        maximum=_MAX_TIMEOUT,
    )
    LOCK_TIMEOUT = Setting(
        timedelta(seconds=10),
        "Time that a write, or a change in the admin, waits for another change of the same"
        " resource (then 503). Loads wait without limit.",
        maximum=_MAX_TIMEOUT,
    )
    SEARCH_MEMORY_BYTES = Setting(
        64 * 2**20,
        "Memory that PostgreSQL may use for each sort, or set of matches, of a search or a dump"
        " (its `work_mem`). A statement may have several, and so may each of its parallel workers.",
        minimum=64 * 2**10,
        maximum=2**40,
    )
    DUMP_TIMEOUT = Setting(
        timedelta(hours=1),
        "Time limit of a [dump](dump.md), until the client has received the last record.",
        maximum=_MAX_TIMEOUT,
    )
    FILE_TIMEOUT = Setting(
        timedelta(minutes=1),
        "Time limit for a file that must be whole before it is sent, which is a workbook of"
        " Excel. It takes the processor for about one second for each 100,000 cells. What takes"
        " longer is 409.",
        maximum=_MAX_TIMEOUT,
    )
    MAX_STREAMS = Setting(
        4,
        "Dumps and answers of more than 4 MB that each process sends at once, at most half of them"
        " to one client. Each occupies a connection to the database or a file while its client"
        " reads, and under WSGI a thread: leave threads for other requests. One more gets 503, or"
        " 429 by the client that has half of them, with `Retry-After`.",
    )
    MIN_STREAM_BYTES_PER_SECOND = Setting(
        16 * 2**10,
        "Minimum speed at which a client must read a dump or an answer of more than 4 MB. A"
        " client that reads less over 30 seconds is disconnected; the time of PostgreSQL does not"
        " count. `0` means no minimum.",
        minimum=0,
    )
    MAX_SPOOL_BYTES = Setting(
        1 * 2**30,
        "Maximum size of an answer that waits in a file until it is sent, which is every answer"
        " of more than 4 MB, and every workbook of Excel (its unpacked rows count twice). A larger"
        " one is 409. Dumps in other formats have no such limit, because they need no file.",
    )
    SPOOL_FOLDER = Setting[str | PathLike[str]](
        "",
        "The folder of these files; if empty, the system's folder of temporary files (`TMPDIR`)."
        " It must exist, on a disk and not in memory, with room for `MAX_STREAMS` times"
        " `MAX_SPOOL_BYTES` for each process. A file has no name and disappears with its process.",
        kind=Path,
    )
    SLOW_REQUEST_MS = Setting(
        1_000,
        "Milliseconds after which an answer to a request is slow. Each slow one is [a line in the"
        " log](../how-to/operate.md#slow-requests), without the values of its parameters. `0`"
        " means that nothing is measured.",
        minimum=0,
    )
    AUTHENTICATION_CLASSES = Setting[Sequence[str]](
        ("datastore_search.api.authentication.BareTokenAuthentication",),
        "Dotted paths of the API's authentication classes (Django REST framework's), tried in"
        " this order. The app's own class accepts a bare token and leaves other schemes, such as"
        " `Bearer …`, to the next class; another one accepts it in `X-CKAN-API-Key`. See"
        " [deployment](../how-to/deploy.md#permissions-and-authentication).",
        is_import=True,
    )
    INDEXES = Setting[Sequence[str]](
        ("filters", "words", "numbers", "dates", "texts"),
        "The [indexes](#indexes) of a resource that has no choice of its own.",
        choices=("filters", "words", "substrings", "numbers", "dates", "texts"),
    )
    LOAD_CONNECTIONS = Setting(
        2,
        "Connections over which a load fills its table and makes its indexes in parallel, in"
        " addition to the two that it always has: one for its statements and one for its locks."
        " Each uses a core of the database server, and a process beside the load builds search"
        " vectors. With `1`, with a file of at most 10,000 rows (of a wide table, 100,000 cells),"
        " and in a transaction of the caller, the load uses only the connection of its statements,"
        " and PostgreSQL builds them.",
    )
    LOAD_WAIT_TIMEOUT = Setting(
        timedelta(hours=2),
        "Time that a load waits for another load of the same resource. After that it fails, and"
        " can be retried.",
        minimum=timedelta(0),
        maximum=_MAX_TIMEOUT,
    )
    LOAD_MEMORY_BYTES = Setting(
        256 * 2**20,
        "Memory that a load may use for reading the file, in addition to Python's own, and memory"
        " that PostgreSQL may use for each index (its `maintenance_work_mem`); those of words,"
        " values and substrings need 8 MiB. `DATASTORE_SEARCH_LOAD_CONNECTIONS` indexes are made"
        " at once. From PostgreSQL 18 on, as many of its processes make the index of words, of 32"
        " MiB each.",
        minimum=8 * 2**20,
        maximum=2**40,
    )
    UPLOAD_RETENTION = Setting(
        timedelta(days=7),
        "Time for which the upload of a failed or cancelled load is kept, so that it can be"
        " retried. The same applies to an unused draft."
        " [`datastore_cleanup`](commands.md#datastore_cleanup) and the next load of the resource"
        " delete older ones.",
        minimum=timedelta(0),
    )
    UNSERVED_TABLE_RETENTION = Setting(
        timedelta(days=7),
        "Time for which a record table is kept that was served, and has lost its resource in"
        " another way than by loading, writing or deleting through this package. It can be [given"
        " back](../how-to/back-up-and-restore.md#a-resource-that-has-lost-its-records). The time"
        " begins when [`datastore_cleanup`](commands.md#datastore_cleanup), or a load of the"
        " resource, first finds the table. A table that a load replaces is dropped at once.",
        minimum=timedelta(0),
    )
    UPLOADS_STORAGE = Setting(
        "datastore_search",
        "The alias in `STORAGES` of the storage in which [uploads wait for their"
        " load](../how-to/deploy.md#uploads). If there is no such alias, `default` is used.",
    )
    TASKS_BACKEND = Setting(
        "default",
        "The alias in `TASKS` of the backend that [runs loads](../how-to/deploy.md#the-worker).",
    )
    TASKS_QUEUE = Setting(
        "default",
        "The queue of that backend for loads.",
    )
    MAP_TILES_URL = Setting(
        "",
        "The address of [map tiles](../how-to/deploy.md#map-tiles), with `{z}`, `{x}` and `{y}`."
        " Without it maps have none, and no page asks another site for anything.",
    )
    MAP_TILES_ATTRIBUTION = Setting(
        "",
        "Attribution of the map tiles (HTML, shown unescaped).",
    )
    PNG_FONT = Setting(
        "DejaVu Sans",
        "The font of [drawings as PNG](../how-to/deploy.md#drawings-as-png), as the server names"
        " it. Letters that it does not have are taken from other fonts of the server.",
    )
    SITE_TITLE = Setting(
        "",
        "The name of the portal, as `status_show` gives it.",
    )
    SITE_DESCRIPTION = Setting(
        "",
        "What the portal is for, in a sentence, as `status_show` gives it.",
    )
    DATASETS = Setting(
        "",
        "The dotted path of the function that gives the portal's [own"
        " datasets](catalogue.md#datasets-of-the-portals-own). Without it each resource is a"
        " dataset of its own.",
        is_import=True,
    )
    PAGES_VERSION = Setting(
        "",
        "The version of the portal's templates and of everything that its data pages show besides"
        " records. With a version, the page of a resource has an `ETag` for readers who are not"
        " signed in, and is not rendered again for a reader who has it. Change it whenever the"
        " pages change. Without a version, pages have no `ETag`.",
    )
    FRAME_ANCESTORS = Setting[Sequence[str]](
        ("'self'",),
        "The sites that may show an [embedded table or"
        " chart](../how-to/embed-tables.md#in-a-frame) in a frame, as sources of a"
        ' Content-Security-Policy: `"https://www.example.org"`. `"\'self\'"` is the portal itself.'
        " An empty list allows none. Other pages are framed as the portal's own headers say.",
        pattern=r"[^\s;,]+",
    )
    MAX_UPLOAD_BYTES = Setting(
        1 * 2**30,
        "Maximum size of a file that is uploaded in the admin. A larger one is refused before it"
        " is received, or at the first byte over the limit. The command has no limit.",
    )
    MAX_UNPACKED_BYTES = Setting(
        10 * 2**30,
        "Maximum size of the unpacked content of a file: the content of a zip, a gzip or a"
        " workbook, and the values of JSON, Parquet and sheets as texts. It is written into the"
        " temporary folder of the process that loads. DuckDB's temporary files there have the same"
        " limit.",
    )
    MAX_UNPACKED_RATIO = Setting(
        200,
        "Maximum ratio of the unpacked content to the file, from 64 MB on. A higher ratio counts"
        " as an attack. Tables of millions of equal rows may need more.",
    )
    READ_CPU_SECONDS = Setting(
        8.0,
        "Seconds of processor time for reading any file, for a load or a preview, in [a separate"
        " process](../decisions/0023-reading-in-a-child-process.md).",
    )
    READ_CPU_SECONDS_PER_MB = Setting(
        0.25,
        "Additional seconds for each MB (2^20 bytes) of the unpacked file. A slow machine may"
        " need more.",
        minimum=0.0,
        maximum=86_400.0,
    )
    READ_MEMORY_BYTES = Setting[int](
        lambda conf: conf.LOAD_MEMORY_BYTES + 256 * 2**20,
        "Maximum memory of the process that reads a file, Python and its libraries included. A"
        " workbook may use 16 times its size in addition. macOS does not enforce the limit.",
        kind=int,
        minimum=64 * 2**20,
    )
    READ_TIMEOUT = Setting(
        timedelta(hours=1),
        "Time limit of reading a file, including waits.",
    )
    MAX_FETCH_BYTES = Setting(
        1 * 2**30,
        "Maximum size of a file that is fetched from a URL, both as it is sent and after its"
        " content coding is removed.",
    )
    FETCH_TIMEOUT = Setting(
        timedelta(minutes=30),
        "Time limit for fetching a file, redirects included.",
    )
    FETCH_IDLE_TIMEOUT = Setting(
        timedelta(seconds=30),
        "Time limit for the next byte while a file is fetched, and for the server to accept a"
        " connection.",
    )
    FETCH_PRIVATE_HOSTS = Setting[Sequence[str]](
        (),
        "Servers without a public address from which files may be fetched:"
        ' `"files.example.internal"`, or with a port, `"10.0.0.5:8080"`, for that port only. Every'
        " user who may load by URL can then read everything that such a server serves. See [load"
        " files](../how-to/load-files.md#from-a-url).",
        pattern=_SERVER_NAME,
    )


conf = Settings()


def list_settings() -> dict[str, Setting[Any]]:
    """Return the declarations by the full names of the settings."""
    return {PREFIX + key: each for key, each in vars(Settings).items() if isinstance(each, Setting)}


@receiver(setting_changed)
def _clear_cached_settings(*, setting: str, **_signal: object) -> None:
    if setting.startswith(PREFIX):
        vars(conf).clear()  # some settings are the default of others

"""
Settings.

Each is declared once: its default, which gives its type; its text, in Markdown; and the values that
it may have.  ``make reference`` writes the defaults and texts into ``docs/reference/settings.md``,
and a system check compares the values of a portal with the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

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

#: By the type of a default: how a message calls it, the types of its values, the usual minimum.
_KINDS: Mapping[type, tuple[str, Any, Any]] = {
    str: ("a text", str, None),
    int: ("an integer", int, 1),
    float: ("a number", (int, float), 0.001),
    timedelta: ("a datetime.timedelta", timedelta, timedelta(milliseconds=1)),
    tuple: ("a list of texts", (list, tuple, set, frozenset), None),
    dict: ("a mapping to texts", Mapping, None),
}


@dataclass(eq=False)
class Setting(Generic[T]):
    """
    A Django setting, ``DATASTORE_SEARCH_<NAME>``, as an attribute of ``Settings``.

    It is read when it is first used, and again after the signal ``setting_changed``, which tests
    send.  In between it is an ordinary attribute of the instance: a search uses seven, and Django
    takes two microseconds to find that one is not set.

    ``pattern`` and ``is_import``, a dotted path of what can be called, are of its text or of each
    of its texts.
    """

    default: T
    text: str
    minimum: T | None = None
    maximum: T | None = None
    pattern: str = ""
    is_import: bool = False

    def __set_name__(self, owner: type[Settings], name: str) -> None:
        self.name = name

    def __get__(self, conf: Settings, owner: type[Settings]) -> T:
        value: T = getattr(settings, PREFIX + self.name, self.default)
        vars(conf)[self.name] = value
        return value

    def find_problem(self, value: Any) -> str:
        """Return what is wrong with a value; an empty text if it is valid."""
        kind: type = type(self.default)
        noun, types, minimum = _KINDS[kind]
        minimum = minimum if self.minimum is None else self.minimum
        if not isinstance(value, types) or isinstance(value, bool):
            return f"It must be {noun}."
        if minimum is not None and not value >= minimum:
            return f"It must be at least {minimum}."
        if self.maximum is not None and value > self.maximum:
            return f"It must be at most {self.maximum}."
        texts: Iterable[Any] = ()
        if kind in {tuple, dict}:
            texts = value if kind is tuple else value.values()
        elif kind is str and value:
            texts = [value]
        return next(filter(None, map(self._find_problem_of_text, texts)), "")

    def _find_problem_of_text(self, text: Any) -> str:
        if not isinstance(text, str):
            return f"It must be {_KINDS[type(self.default)][0]}."
        if self.pattern and not re.fullmatch(self.pattern, text):
            return f"“{text}” does not match {self.pattern}."
        try:
            if self.is_import and not callable(import_string(text)):
                return f"“{text}” cannot be called."
        except ImportError as error:
            return str(error)
        return ""


class Settings:
    """The app's settings."""

    # Reading records ------------------------------------------------------------------------------

    MAX_LIMIT = Setting(
        32_000,
        "Maximum records of an answer; a higher `limit` is treated as this one.",
        maximum=2**31 - 1,
    )
    MAX_ANONYMOUS_BODY_BYTES = Setting(
        64 * 2**10,
        "Maximum size of the body of a request without a valid token. A larger body is not "
        "read, even if `DATA_UPLOAD_MAX_MEMORY_SIZE` allows it: the answer is 413, or 403 "
        "for a call that [writes](writing.md#size). `filters` with 10,000 values may have "
        "500 kB.",
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
        "Time limit of all facets of a call together, and of its suggestions; the time limit "
        "of a search applies, too. Slower ones are [answered "
        "incompletely](facets-and-aggregates.md#complete).",
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

    # Writing records ------------------------------------------------------------------------------

    MAX_WRITE_BODY_BYTES = Setting(
        100 * 2**20,
        "Maximum size of the body of a request that writes, with the token of a user who may write"
        " some resource. The call needs up to ten times as much memory.",
    )
    WRITE_TIMEOUT = Setting(
        timedelta(minutes=2),
        "Time limit of each statement of a call that writes. A slower call gets 503, and "
        "nothing is changed.",
        maximum=_MAX_TIMEOUT,
    )

    # Shares of clients ----------------------------------------------------------------------------

    MAX_SLOTS = Setting(
        3,
        "Number of slow requests, and of calls that write, that a process answers at once: "
        "[each client has its share](../how-to/deploy.md#each-client-has-its-share). The sum "
        "of twice this setting, `MAX_WAITING` and `MAX_STREAMS` should be smaller than the "
        "number of threads of a process.",
    )
    MAX_SLOTS_PER_CLIENT = Setting(
        1, "How many of these slots one client may hold while another client waits."
    )
    MAX_WAITING = Setting(
        8,
        "Number of requests that wait for such a slot in a process, at most half of them "
        "from one client. Further requests of that client get 429; if all places are taken "
        "by different clients, the answer is 503.",
    )
    MAX_STREAMS = Setting(
        4,
        "Dumps and answers of more than 4 MB that each process sends at once, at most half "
        "of them to one client. Each occupies a connection to the database or a file while "
        "its client reads, and under WSGI a thread: leave threads for other requests. "
        "Further ones get 503, or 429 if their client has half of them, with `Retry-After`.",
    )

    # Resources ------------------------------------------------------------------------------------

    SEARCH_LANGUAGE = Setting(
        "english",
        "Full-text language of a new resource: the name of a PostgreSQL text search"
        " configuration. `simple` has no word forms of any language.",
    )
    INDEXES = Setting[Sequence[str]](
        ("filters", "words", "numbers", "dates", "texts"),
        "The [indexes](#indexes) of a resource without its own choice.",
        pattern="filters|words|substrings|numbers|dates|texts",
    )

    # Loading files --------------------------------------------------------------------------------

    LOAD_CONNECTIONS = Setting(
        2,
        "Connections over which a load fills its table and makes its indexes in parallel, in"
        " addition to the two that it always has: one for its statements and one for its locks."
        " Each uses a core of the database server, and a process beside the load builds search"
        " vectors. With `1`, with a file of at most 10,000 rows (of a wide table, 100,000 cells),"
        " and in a transaction of the caller, the load uses only the connection of its statements,"
        " and PostgreSQL builds them.",
    )
    LOAD_MEMORY_BYTES = Setting(
        256 * 2**20,
        "Memory that a load may use for reading the file, in addition to Python's own: the "
        "process that reads it may have 256 MiB more, and 16 times the size of a workbook. A "
        "table of more than 800 fields may use 320 KiB for each. It is also the memory that "
        "PostgreSQL may use for each index (its `maintenance_work_mem`); the indexes of "
        "words, values and substrings need 8 MiB. `DATASTORE_SEARCH_LOAD_CONNECTIONS` "
        "indexes are made at once. From PostgreSQL 18 on, the same number of its processes "
        "make the index of words, with 32 MiB each.",
        minimum=8 * 2**20,
        maximum=2**40,
    )
    READ_CPU_SECONDS = Setting(
        8.0,
        "Seconds of processor time for reading any file, for a load or a preview, in [a separate"
        " process](../decisions/0023-reading-in-a-child-process.md), and again for each 32 MB of"
        " the unpacked file. A slow machine may need more.",
    )
    MAX_UPLOAD_BYTES = Setting(
        1 * 2**30,
        "Maximum size of a file that is uploaded in the admin, or fetched from a URL, both "
        "with and without its content coding. A larger file is refused before it is "
        "received, or at the first byte over the limit. A file path given to the command has "
        "no limit.",
    )
    MAX_UNPACKED_BYTES = Setting(
        10 * 2**30,
        "Maximum size of the unpacked content of a file: the content of a zip, a gzip or a"
        " workbook, and the values of JSON, Parquet and sheets as texts. It is written into the"
        " temporary folder of the process that loads. DuckDB's temporary files there have the same"
        " limit.",
    )
    FETCH_PRIVATE_HOSTS = Setting[Sequence[str]](
        (),
        "Servers without a public address from which files may be fetched:"
        ' `"files.example.internal"`, or with a port, `"10.0.0.5:8080"`, for that port only. Every'
        " user who may load by URL can then read everything that such a server serves. See [load"
        " files](../how-to/load-files.md#from-a-url).",
        pattern=_SERVER_NAME,
    )
    UPLOAD_RETENTION = Setting(
        timedelta(days=7),
        "Time for which the upload of a failed or cancelled load is kept, so that it can be"
        " retried. The same applies to an unused draft."
        " [`datastore_cleanup`](commands.md#datastore_cleanup) and the next load of the resource"
        " delete older ones.",
        minimum=timedelta(0),
    )
    TASKS_BACKEND = Setting(
        "default",
        "The alias in `TASKS` of the backend that [runs loads](../how-to/deploy.md#the-worker).",
    )
    TASKS_QUEUE = Setting(
        "default",
        "The queue of that backend for loads.",
    )

    # The portal -----------------------------------------------------------------------------------

    SITE_TITLE = Setting(
        "",
        "The name of the portal, shown by `status_show`.",
    )
    SITE_DESCRIPTION = Setting(
        "",
        "The purpose of the portal in a sentence, shown by `status_show`.",
    )
    DATASETS = Setting(
        "",
        "The dotted path of the function that returns the portal's [own "
        "datasets](catalogue.md#datasets-of-the-portals-own). Without it each resource is "
        "its own dataset.",
        is_import=True,
    )
    AUTHENTICATION_CLASSES = Setting[Sequence[str]](
        ("datastore_search.api.authentication.BareTokenAuthentication",),
        "Dotted paths of the API's authentication classes (Django REST framework's), tried "
        "in this order. The app's own class accepts a bare token and leaves other schemes, "
        "such as `Bearer …`, to the next class; a second class accepts the token in "
        "`X-CKAN-API-Key`. See "
        "[deployment](../how-to/deploy.md#permissions-and-authentication).",
        is_import=True,
    )
    SLOW_REQUEST_MS = Setting(
        1_000,
        "Milliseconds after which an answer to a request is slow. Each slow answer is [a "
        "line in the log](../how-to/operate.md#slow-requests), without the values of its "
        "parameters. `0` turns this off.",
        minimum=0,
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
        "The sites that may show an [embedded table or "
        "chart](../how-to/embed-tables.md#in-a-frame) in a frame, as sources of a "
        'Content-Security-Policy: `"https://www.example.org"`. `"\'self\'"` is the portal '
        "itself. An empty list allows no site. For other pages the portal's own headers "
        "decide.",
        pattern=r"[^\s;,]+",
    )
    MAP_TILES = Setting[Mapping[str, str]](
        {},
        "[Map tiles](../how-to/deploy.md#map-tiles): their address as `url`, with `{z}`, "
        "`{x}` and `{y}`, and their `attribution` (HTML, shown unescaped). Without them, "
        "pages request nothing from other sites.",
    )


conf = Settings()


def list_settings() -> dict[str, Setting[Any]]:
    """Return the declarations by the full names of the settings."""
    return {PREFIX + key: each for key, each in vars(Settings).items() if isinstance(each, Setting)}


@receiver(setting_changed)
def _clear_cached_settings(*, setting: str, **_signal: object) -> None:
    if setting.startswith(PREFIX):
        vars(conf).clear()

"""
Settings of the core, and how each app declares its own.

Each is declared once: its default, which gives its type; its text, in Markdown; and the values that
it may have.  The module ``conf`` of an app has the class of its settings, and ``conf``, which reads
them.  ``make reference`` writes the defaults and texts into ``docs/reference/settings.md``, and a
system check compares the values of a portal with the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Generic, TypeVar

from django.apps import apps
from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

T = TypeVar("T")

PREFIX: Final = "DATASTORE_SEARCH_"

#: PostgreSQL counts its time limits in milliseconds, as integers of 32 bits.
MAX_TIMEOUT = timedelta(milliseconds=2**31 - 1)

#: For each type of a default: its name in messages, the types of its values, the usual minimum.
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
    A Django setting, ``DATASTORE_SEARCH_<NAME>``, as an attribute of ``conf``.

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
    """The settings of an app; ``conf`` of its module ``conf`` is the only instance."""

    def __init__(self) -> None:
        _instances.append(self)


_instances: list[Settings] = []


class CoreSettings(Settings):
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
        " one more with `include_next_page` and with each parameter that an app adds.",
        maximum=MAX_TIMEOUT,
    )
    ANONYMOUS_STATEMENT_TIMEOUT = Setting(
        timedelta(seconds=15),
        "The same for a client without a valid token or session, and the time limit of the first"
        " block of its dump. The shorter of both settings applies.",
        maximum=MAX_TIMEOUT,
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
        maximum=MAX_TIMEOUT,
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
        maximum=MAX_TIMEOUT,
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

    # The portal -----------------------------------------------------------------------------------

    SURROGATE_MAX_AGE = Setting(
        timedelta(0),
        "How long [a cache in front](../how-to/put-a-cache-in-front.md) may keep a public answer,"
        " if its purge is lost: 60 seconds are enough. Zero: there is no such cache.",
        minimum=timedelta(0),
    )
    SITE_TITLE = Setting("", "The name of the portal, shown by `status_show`.")
    SITE_DESCRIPTION = Setting(
        "", "The purpose of the portal in a sentence, shown by `status_show`."
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


conf = CoreSettings()


def find_settings(app: str) -> dict[str, Setting[Any]]:
    """Find the settings of an app, installed or not, by their full names."""
    name = f"{app}.conf"
    declared = vars(type(import_module(name).conf)) if find_spec(name) else {}
    return {PREFIX + key: each for key, each in declared.items() if isinstance(each, Setting)}


def list_settings() -> dict[str, Setting[Any]]:
    names = [each.name for each in apps.get_app_configs()]
    own = [name for name in names if f"{name}.".startswith(f"{__package__}.")]
    return {key: setting for name in own for key, setting in find_settings(name).items()}


@receiver(setting_changed)
def _clear_cached_settings(*, setting: str, **_signal: object) -> None:
    if setting.startswith(PREFIX):
        for each in _instances:
            vars(each).clear()

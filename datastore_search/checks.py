"""System checks: settings that would cause errors later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.cache.backends.dummy import DummyCache
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections, router, transaction
from django.utils.module_loading import import_string
from rest_framework.settings import api_settings

from .apps import ContribAppConfig
from .conf import PREFIX, conf, find_settings, list_settings
from .database.indexes import has_trigrams
from .database.server import can_fold_case, has_version, measure_locks
from .database.statements import fetch_value
from .middleware import LocaleMiddleware
from .models import IndexKind, Resource

_CONTRIB_APPS = [each.name for each in iter_modules([str(Path(__file__).with_name("contrib"))])]


@register(Tags.translation)
def check_middleware(**_options: Any) -> Iterator[CheckMessage]:
    classes = [each for each in map(import_string, settings.MIDDLEWARE) if isinstance(each, type)]
    if not any(issubclass(each, LocaleMiddleware) for each in classes):
        yield Warning(
            "Addresses such as /en_GB/api/action/datastore_search will not be found.",
            hint="Put datastore_search.middleware.LocaleMiddleware in the place of"
            " django.middleware.locale.LocaleMiddleware in MIDDLEWARE.",
            id="datastore_search.W001",
        )


@register(Tags.compatibility)
def check_settings(**_options: Any) -> list[CheckMessage]:
    known = list_settings()
    short_names = [each.removeprefix(PREFIX) for each in known]
    messages: list[CheckMessage] = []
    for name in sorted({each for each in dir(settings) if each.startswith(PREFIX)}):
        if name in known:
            if problem := known[name].find_problem(getattr(settings, name)):
                text, hint = f"{name} is not valid: {problem}", known[name].text
                messages.append(Error(text, hint=hint, id="datastore_search.E009"))
            continue
        text, hint = f"{name} is not a setting.", "Remove it."
        apps_of_it = (f"{__package__}.contrib.{each}" for each in _CONTRIB_APPS)
        if app := next((each for each in apps_of_it if name in find_settings(each)), ""):
            text = f"{name} is a setting of {app}, which is not installed."
            hint = f"Add {app!r} to INSTALLED_APPS, or remove the setting."
        elif similar := get_close_matches(name.removeprefix(PREFIX), short_names, n=1):
            hint = f"Did you mean {PREFIX}{similar[0]}?"
        messages.append(Error(text, hint=hint, id="datastore_search.E012"))
    return messages


@register(Tags.caches)
def check_cache(**_options: Any) -> Iterator[CheckMessage]:
    """Require a cache that can count, where requests are counted."""
    cache = import_string(settings.CACHES["default"]["BACKEND"])
    if api_settings.DEFAULT_THROTTLE_CLASSES and issubclass(cache, DummyCache):
        yield Warning(
            "DEFAULT_THROTTLE_CLASSES limits nothing: the cache “default” keeps nothing.",
            hint="Use another backend in CACHES.",
            id="datastore_search.W015",
        )


@register(Tags.compatibility)
def check_vendor(**_options: Any) -> Iterator[CheckMessage]:
    alias = router.db_for_write(Resource)
    if connections[alias].vendor != "postgresql":
        yield Error(
            f"The database “{alias}” is not PostgreSQL.",
            hint="datastore_search needs PostgreSQL 15 or newer.",
            id="datastore_search.E001",
        )


@register(Tags.database)
def check_server(databases: Sequence[str] | None = None, **_options: Any) -> Iterator[CheckMessage]:
    alias = router.db_for_write(Resource)
    connection = connections[alias]
    if alias not in (databases or ()) or connection.vendor != "postgresql":
        return
    if not has_version(connection, 15):
        yield Error("PostgreSQL is older than version 15.", id="datastore_search.E002")
    if not can_fold_case(connection):
        yield Warning(
            "The database does not know upper and lower case outside ASCII, so a search for"
            " “hà nội” will not find “HÀ NỘI”.",
            hint="Create it with a UTF-8 locale, such as C.UTF-8.",
            id="datastore_search.W002",
        )
    has_valid_indexes = not list_settings()[f"{PREFIX}INDEXES"].find_problem(conf.INDEXES)
    if has_valid_indexes and IndexKind.SUBSTRINGS in conf.INDEXES and not has_trigrams(connection):
        yield Warning(
            "DATASTORE_SEARCH_INDEXES has “substrings”, and the database has no extension"
            " pg_trgm: loads leave that index out.",
            hint="Create the extension: CREATE EXTENSION pg_trgm.",
            id="datastore_search.W011",
        )
    needed, room, wanted = measure_locks(connection)
    if needed > room:
        yield Warning(
            f"A dump of the database “{alias}” takes {needed} locks, and PostgreSQL has room"
            f" for {room}: pg_dump may fail.",
            hint=f"Set max_locks_per_transaction to {wanted}, and restart PostgreSQL.",
            id="datastore_search.W013",
        )
    if fetch_value(connection, "SHOW standard_conforming_strings") == "off":
        yield Error(
            f"standard_conforming_strings of the database “{alias}” is off: searches and writes"
            " fail.",
            hint="Set it to on, PostgreSQL’s default, for the role and the database.",
            id="datastore_search.E029",
        )
    with transaction.atomic(alias):
        level = fetch_value(connection, "SHOW transaction_isolation")
    if level != "read committed":
        yield Warning(
            f"Transactions of the database “{alias}” are “{level}”: loads, and writes of several"
            " clients at once, may fail.",
            hint="Leave isolation_level in DATABASES, and default_transaction_isolation of the role"
            " and the database, at “read committed”.",
            id="datastore_search.W028",
        )


@register(Tags.compatibility)
def check_contrib_apps(**_options: Any) -> Iterator[CheckMessage]:
    for config in apps.get_app_configs():
        if not isinstance(config, ContribAppConfig):
            continue
        for extra in config.list_missing_packages():
            yield Error(
                f"{config.name} needs packages that are not installed.",
                hint=f"pip install 'datastore-search[{extra}]'",
                id="datastore_search.E021",
            )


@register(Tags.database)
def check_removed_apps(
    databases: Sequence[str] | None = None, **_options: Any
) -> Iterator[CheckMessage]:
    alias = router.db_for_write(Resource)
    if alias not in (databases or ()) or connections[alias].vendor != "postgresql":
        return
    tables = connections[alias].introspection.table_names()
    for name in _CONTRIB_APPS:
        app, label = f"{__package__}.contrib.{name}", f"datastore_search_{name}"
        has_tables = any(table.startswith(f"{label}_") for table in tables)
        if has_tables and not apps.is_installed(app):
            yield Warning(
                f"The database “{alias}” has tables of {app}, which is not installed.",
                hint="Add it to INSTALLED_APPS. If you do not need its tables, then run"
                f" “migrate {label} zero”, and remove it again.",
                id="datastore_search.W021",
            )

"""System checks of replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.checks import CheckMessage, Tags, Warning, register
from django.utils.module_loading import import_string

from .conf import conf


@register(Tags.caches)
def check_cache(**_options: Any) -> Iterator[CheckMessage]:
    """Require a cache that all processes share, where there are replicas."""
    cache = import_string(settings.CACHES["default"]["BACKEND"])
    if conf.REPLICAS and issubclass(cache, DummyCache | LocMemCache):
        yield Warning(
            "Clients may miss what they have written: processes do not share the cache “default”.",
            hint="Use another backend in CACHES, such as Redis.",
            id="datastore_search.W023",
        )

"""Settings of a portal behind a cache: the example's, without rates, with the caches to purge."""

import os
from datetime import timedelta

os.environ.setdefault("THROTTLE", "0")

from example_project.settings import *  # noqa: F403 - all of them
from example_project.settings import REST_FRAMEWORK as _REST_FRAMEWORK

DATASTORE_SEARCH_SURROGATE_MAX_AGE = timedelta(
    seconds=int(os.environ.get("SURROGATE_SECONDS", "60"))
)
DATASTORE_SEARCH_CACHE_ADDRESSES = os.environ.get("CACHES", "").split()
REST_FRAMEWORK = {**_REST_FRAMEWORK, "NUM_PROXIES": int(os.environ.get("PROXIES", "1"))}

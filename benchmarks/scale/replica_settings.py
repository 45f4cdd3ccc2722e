"""Settings of a portal with replicas: the example's, without rates, with a cache in files."""

import os
from typing import Any

import dj_database_url

os.environ["THROTTLE"] = "0"

from example_project.settings import *  # noqa: F403 - all of them
from example_project.settings import DATABASES as _DATABASES

_REPLICAS: dict[str, Any] = {
    f"replica{number}": dj_database_url.parse(url, conn_max_age=600)
    for number, url in enumerate(os.environ["REPLICAS"].split())
}
DATABASES = {**_DATABASES, **_REPLICAS}
DATABASE_ROUTERS = ["datastore_search.contrib.scale.routers.ReplicaRouter"]
DATASTORE_SEARCH_REPLICAS = list(_REPLICAS)
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": os.environ["CACHE"],
    }
}

#: No search waits for another one here.
DATASTORE_SEARCH_MAX_SLOTS = 100

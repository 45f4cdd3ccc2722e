"""Settings of a portal with some of the contrib apps: those that ``CONTRIB_APPS`` names."""

from __future__ import annotations

import os

from example_project.settings import *  # noqa: F403 - the other settings are those of the portal
from example_project.settings import INSTALLED_APPS as ALL_APPS

from .processes import IMMEDIATE

_PREFIX = "datastore_search.contrib."
_CHOSEN = os.environ["CONTRIB_APPS"].split()

INSTALLED_APPS = [
    name
    for name in ALL_APPS
    if not name.startswith(_PREFIX) or name.removeprefix(_PREFIX) in _CHOSEN
]
for _app, _name in (("analysis", "SQL_SEARCH"), ("pages", "PAGES_VERSION"), ("scale", "PLACEMENT")):
    if _app not in _CHOSEN:
        del globals()[f"DATASTORE_SEARCH_{_name}"]
ROOT_URLCONF = "tests.contrib_urls"
TASKS = IMMEDIATE
REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}  # no rates

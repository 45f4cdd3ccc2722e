"""Settings of a portal with Wagtail, whose pages are those of ``tests.wagtail.pages``."""

import os

from example_project.settings import *  # noqa: F403 - the other settings are those of the portal
from example_project.settings import DATABASES, INSTALLED_APPS as _APPS

INSTALLED_APPS = [
    *_APPS,
    "datastore_search.contrib.wagtail",
    "wagtail.users",
    "wagtail.images",
    "wagtail.documents",
    "wagtail.admin",
    "wagtail",
    "modelcluster",
    "taggit",
    "tests.wagtail.pages",
]
ROOT_URLCONF = "tests.wagtail.urls"
WAGTAIL_SITE_NAME = "Portal"
WAGTAILADMIN_BASE_URL = "http://localhost"
SILENCED_SYSTEM_CHECKS = ["wagtailadmin.W001"]
DATABASES["default"]["TEST"] = {"NAME": f"test_wagtail_{os.getpid()}"}

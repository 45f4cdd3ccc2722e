"""
Settings of a portal with the core alone: no contrib app, and no package of an extra.

The tests of the core run with them, and those of the whole example portal add to them.
"""

import os
from typing import Any

from django.conf import global_settings

from .database import BASE_DIR, build_database_settings, read_secret_key

SECRET_KEY = os.environ.get("SECRET_KEY") or read_secret_key()
DEBUG = os.environ.get("DEBUG") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *os.environ.get("ALLOWED_HOSTS", "").split()]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "knox",
    "datastore_search",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "datastore_search.middleware.LocaleMiddleware",  # in the place of Django's
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "datastore_search.middleware.disconnect_middleware",  # the last; it does nothing under WSGI
]

ROOT_URLCONF = "example_project.core_urls"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": build_database_settings()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = global_settings.LANGUAGES
TIME_ZONE = "UTC"
LOGIN_URL = "admin:login"
USE_TZ = True

#: Uploads wait here for their load; no address leads to them.
MEDIA_ROOT = os.environ.get("MEDIA_ROOT") or BASE_DIR / ".media"
STATIC_URL = "static/"
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 2**20
#: Parameters of a request, as many as the API accepts; a form of 400 fields has 5,000 inputs.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

REST_FRAMEWORK: dict[str, Any] = {}

"""Settings of the example portal, as for a small real one; secrets come from outside."""

import os
from importlib.util import find_spec

import django
from pythonjsonlogger.core import RESERVED_ATTRS

from datastore_search import __version__

from .core_settings import *
from .core_settings import (
    INSTALLED_APPS as _CORE_APPS,
    MIDDLEWARE as _CORE_MIDDLEWARE,
    REST_FRAMEWORK,
)

#: Not on Python 3.12, where django-guid excludes Django 6.
_HAS_GUID = find_spec("django_guid") is not None

INSTALLED_APPS = [
    *_CORE_APPS,
    "datastore_search.contrib.files",
    "datastore_search.contrib.analysis",
    "datastore_search.contrib.catalogue",
    "datastore_search.contrib.pages",
    "datastore_search.contrib.openapi",
    "datastore_search.contrib.agents",
    "datastore_search.contrib.operations",
    "datastore_search.contrib.scale",
    "corsheaders",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    *(["django_tasks"] if django.VERSION < (6, 0) else []),  # Django has them from 6.0 on
    "django_tasks_db",
    *(["django_guid"] if _HAS_GUID else []),
    "example_project",
]

# Members of organizations have permissions for the datasets of these.
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "datastore_search.contrib.catalogue.permissions.OrganizationBackend",
]

# Pages load only files of this server, and run no script inside a page.  Swagger UI and the admin
# have small pictures in their style sheets.
_POLICY = {
    "default-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "object-src": ["'none'"],
}
SECURE_CSP = _POLICY
CONTENT_SECURITY_POLICY = {"DIRECTIVES": _POLICY}  # of django-csp, where Django is older than 6.0

_SECURITY, *_OTHERS, _DISCONNECT = _CORE_MIDDLEWARE
MIDDLEWARE = [
    # The first, so that every answer has the id of its request.
    *(["django_guid.middleware.guid_middleware"] if _HAS_GUID else []),
    "corsheaders.middleware.CorsMiddleware",  # before all that may answer by itself
    _SECURITY,
    "example_project.policy.PagePolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    *_OTHERS,
    # For the admin and the portal's own pages, too.
    "datastore_search.contrib.operations.middleware.LoginRateMiddleware",
    "datastore_search.contrib.operations.middleware.DatabaseErrorMiddleware",
    _DISCONNECT,
]

ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
ASGI_APPLICATION = "example_project.asgi.application"

# Loads wait in the database for the worker that "make serve" starts beside the web server.
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

WHITENOISE_USE_FINDERS = True  # no collectstatic in a demo

# Pages of any origin may call the API and fetch dumps, with a token and never with a cookie.
CORS_URLS_REGEX = (
    r"/([A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*/)?"
    r"(api/|datastore/(dump/|(.+/)?[a-z]+\.(json|jsonld|ttl|atom)$))"
)
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
CORS_ALLOW_HEADERS = ("authorization", "content-type", "if-none-match")
CORS_EXPOSE_HEADERS = (
    "content-disposition",
    "content-range",
    "etag",
    "last-modified",
    "retry-after",
    "x-request-id",
)

DATASTORE_SEARCH_PAGES_VERSION = __version__  # the pages show nothing else that changes

DATASTORE_SEARCH_SQL_SEARCH = "all"  # without it there is no SQL

DATASTORE_SEARCH_PLACEMENT = os.environ.get("PLACEMENT", "")

# Rates are counted in the memory of each process: a portal has a cache.
# Each login costs a third of a second of a processor.
REST_FRAMEWORK |= {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_RATES": {"login": "10/minute"},
}
# Crawlers leave room for people.
if os.environ.get("THROTTLE", "1") == "1":
    REST_FRAMEWORK |= {
        "DEFAULT_THROTTLE_CLASSES": [
            "datastore_search.guards.rates.AddressThrottle",
            "datastore_search.guards.rates.UserThrottle",
        ],
        "DEFAULT_THROTTLE_RATES": {
            "anon": "300/minute",
            "user": "1200/minute",
            **REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"],
        },
    }
SPECTACULAR_SETTINGS = {
    "TITLE": "Example portal",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "PREPROCESSING_HOOKS": ["datastore_search.contrib.openapi.describe_actions"],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],  # anyone may read it; BasicAuthentication would hash passwords
    # This server delivers the viewer, which loads nothing from other servers.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "tagsSorter": "alpha", "validatorUrl": None},
}

# The id that a proxy has given to the request if it is a UUID, otherwise a new one.
DJANGO_GUID = {"GUID_HEADER_NAME": "X-Request-ID", "EXPOSE_HEADER": False}

# Each line is a JSON object with the id of its request.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {
            "()": "django_guid.log_filters.CorrelationId",
            "correlation_id_field": "request_id",
        }
    }
    if _HAS_GUID
    else {},
    "formatters": {
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "format": "{asctime}{levelname}{name}{message}" + "{request_id}" * _HAS_GUID,
            "style": "{",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
            # Django's warnings have the request, whose text has the values of its parameters.
            "reserved_attrs": [*RESERVED_ATTRS, "request"],
        }
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "filters": ["request_id"] if _HAS_GUID else [],
            "formatter": "json",
        }
    },
    "loggers": {
        "datastore_search": {"handlers": ["console"], "level": "INFO"},
        "django": {"handlers": ["console"], "level": "INFO", "propagate": False},
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
    },
}

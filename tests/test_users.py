"""Portals with users of their own: commands, pages and tokens work with any model of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import sql

ROOT = Path(__file__).resolve().parents[1]

MODELS = """
from django.contrib.auth.models import AbstractBaseUser
from django.db import models

class Member(AbstractBaseUser):
    email = models.EmailField(primary_key=True)
    may = models.JSONField(default=list)
    USERNAME_FIELD = "email"
    objects = models.Manager()  # knows no natural keys
    is_staff = True

    @property
    def is_superuser(self):  # who issues tokens for others
        return "add_authtoken" in self.may

    def has_perm(self, permission, obj=None):  # in the way of Django's documentation
        return permission.rpartition(".")[2] in self.may

    def has_module_perms(self, app):
        return True
"""

#: How the portal's admin may know its users.
ADMINS = {
    "not registered": "",
    "without a search": "admin.site.register(Member)",
    "with a search": """
@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):
    search_fields = ("email",)
""",
}

SETTINGS = """
SECRET_KEY = "of a test"
ALLOWED_HOSTS = ["testserver"]
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
    "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles",
    "rest_framework", "django_filters", "knox", "datastore_search", "members",
]
import django
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")
TASKS = {"default": {"BACKEND":
    ("django.tasks" if django.VERSION >= (6, 0) else "django_tasks")
    + ".backends.immediate.ImmediateBackend"}}
AUTH_USER_MODEL = "members.Member"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "datastore_search.middleware.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
USE_TZ = True
ROOT_URLCONF = "portal.urls"
import json, os
DATABASES = {"default": json.loads(os.environ["PORTAL_DATABASE"])}
"""

URLS = """
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

urlpatterns = i18n_patterns(
    path("admin/", admin.site.urls), path("", include("datastore_search.urls"))
)
"""

#: What staff and programs do, in one process; it ends with the first surprise.
USE = """
import io, json, sys
from pathlib import Path
import django
django.setup()
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from datastore_search.loading.jobs import load_file
from datastore_search.models import Resource

call_command("check", fail_level="WARNING")
call_command("migrate", verbosity=0)
Member = get_user_model()
staff = Member.objects.create(email="a@example.org", may=[
    "view_resource", "add_resource", "change_resource", "delete_resource",
    "view_authtoken", "add_authtoken", "delete_authtoken", "view_member",
])
other = Member.objects.create(email="b@example.org")
resource = Resource.objects.create(name="members", private=True)
path = Path(sys.argv[1]) / "members.csv"
path.write_text("a\\n1\\n")
load_file(resource, path)

client = Client()
client.force_login(staff)
base = "/en/admin/datastore_search/"
pages = [
    "/en/admin/", "/en/admin/knox/authtoken/", "/en/admin/knox/authtoken/add/",
    base + "resource/", base + f"resource/{resource.pk}/change/", base + "load/",
    f"/en/datastore/{resource.pk}/",
]
for page in pages:
    assert client.get(page).status_code == 200, page
form = client.get("/en/admin/knox/authtoken/add/").content.decode()
assert ("admin-autocomplete" in form) == (sys.argv[2] == "with a search"), form
added = client.post("/en/admin/knox/authtoken/add/", {"user": "b@example.org"})
assert added.status_code == 302, added.content

def token_of(email):
    out = io.StringIO()
    call_command("create_api_token", email, stdout=out)
    return out.getvalue().strip()

def ask(token):
    return Client().get(
        f"/en/api/action/datastore_search?resource_id={resource.pk}",
        headers={"Authorization": token},
    )

assert ask(token_of("a@example.org")).json()["result"]["total"] == 1
refused = ask(token_of("b@example.org"))
assert refused.status_code == 403 and "b@example.org" in refused.json()["error"]["message"]
try:
    token_of("nobody@example.org")
except Exception as error:
    assert str(error) == "There is no user “nobody@example.org”."
else:
    raise AssertionError
print("done")
"""


@pytest.fixture
def database(db: None) -> Iterator[dict[str, Any]]:
    """An empty database on the server of the tests, as Django's settings name one."""
    name = f"users_{os.getpid()}"
    values = connection.get_connection_params()
    values = {key: values[key] for key in ("host", "port", "user", "password") if values.get(key)}
    with psycopg.connect(**values, dbname="postgres", autocommit=True) as server:
        server.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
        )
        yield {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": name,
            **{key.upper(): value for key, value in values.items()},
        }
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.mark.slow
@pytest.mark.parametrize("known", ADMINS)
def test_a_portal_with_its_own_model_of_users_works(
    database: dict[str, Any], tmp_path: Path, known: str
) -> None:
    files = {
        "portal/__init__.py": "", "portal/settings.py": SETTINGS, "portal/urls.py": URLS,
        "members/__init__.py": "", "members/models.py": MODELS,
        "members/migrations/__init__.py": "",
        "members/admin.py": f"from django.contrib import admin\nfrom .models import Member\n"
        f"{ADMINS[known]}",
        "use.py": USE,
    }  # fmt: skip
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "PORTAL_DATABASE": json.dumps(database),
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "django", "makemigrations", "members", "--verbosity=0")
    assert run("use.py", str(tmp_path), known).endswith("done\n")

"""Portals with users of their own: commands, pages and tokens work with any model of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ...processes import build_database_url

ROOT = Path(__file__).resolve().parents[3]

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
    "with a search": """
@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):
    search_fields = ("email",)
""",
}

SETTINGS = """
from example_project.settings import *
from example_project.settings import INSTALLED_APPS
INSTALLED_APPS = [*INSTALLED_APPS, "members"]
AUTH_USER_MODEL = "members.Member"
ALLOWED_HOSTS = ["testserver"]
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
from datastore_search.contrib.files.jobs import load_file
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
    base + "resource/", base + f"resource/{resource.pk}/change/",
    "/en/admin/datastore_search_files/load/",
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
def database_url(db: None) -> Iterator[str]:
    """The URL of an empty database on the server of the tests."""
    name, url = f"users_{os.getpid()}", build_database_url()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield re.sub(r"/[^/?]*(?=\?|$)", f"/{name}", url)
        # PostgreSQL refuses WITH (FORCE) to an ordinary role while autovacuum is in the database.
        server.execute(f"DROP DATABASE {name}")


@pytest.mark.slow
@pytest.mark.parametrize("known", ADMINS)
def test_a_portal_with_its_own_model_of_users_works(
    database_url: str, tmp_path: Path, known: str
) -> None:
    files = {
        "portal/__init__.py": "", "portal/settings.py": SETTINGS,
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
        "DATABASE_URL": database_url,
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "django", "makemigrations", "members", "--verbosity=0")
    assert run("use.py", str(tmp_path), known).endswith("done\n")

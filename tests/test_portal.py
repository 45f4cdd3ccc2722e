"""The tutorial “Your first portal”, done to a bare project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

PAGE = Path(__file__).parent.parent / "docs" / "tutorials" / "first-portal.md"
ID = "2f1c9f6e-7f0e-4f0a-9a43-0d6c1a6f0b10"


def get_code_block(first: str) -> str:
    """Give the code block of the tutorial that begins with some words."""
    blocks: list[str] = re.findall(r"```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block_found,) = [text for text in blocks if text.startswith(first)]
    return block_found


@pytest.fixture
def portal(tmp_path: Path, transactional_db: None) -> Iterator[Callable[..., str]]:
    """A bare project, changed as the tutorial says, on a database of its own."""
    name = f"portal_{os.getpid()}"
    with connection.cursor() as cursor:
        template = connection.settings_dict["TEST"]["TEMPLATE"]
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')

    def run(*arguments: str) -> str:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "portal.settings"}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    subprocess.run(
        [sys.executable, "-m", "django", "startproject", "portal", "."], cwd=tmp_path, check=True
    )
    change_settings(tmp_path / "portal" / "settings.py", name)
    (tmp_path / "portal" / "urls.py").write_text(get_code_block("from django.conf.urls.i18n"))
    yield run
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}"')


def change_settings(path: Path, database: str) -> None:
    settings = path.read_text()
    apps = re.findall(r'^    "(.*)",$', get_code_block("INSTALLED_APPS"), re.MULTILINE)
    middleware = '    "datastore_search.middleware.LocaleMiddleware",\n'
    assert middleware in get_code_block("MIDDLEWARE")
    before = '    "django.middleware.common.CommonMiddleware",\n'
    settings = settings.replace("'", '"').replace(before, middleware + before)
    known = connection.settings_dict
    entry = {
        **{key: known[key] for key in ("ENGINE", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")},
        "NAME": database,
    }
    settings += f"\nINSTALLED_APPS += {apps!r}\nDATABASES = {{'default': {entry!r}}}\n"
    path.write_text(settings)


def test_the_steps_of_the_tutorial_make_a_portal_that_answers(
    portal: Callable[..., str], tmp_path: Path
) -> None:
    csv = get_code_block("cat > survey.csv").split("<<'END'\n")[1].split("END\n")[0]
    (tmp_path / "survey.csv").write_text(csv)

    portal("manage.py", "check", "--database", "default", "--fail-level", "WARNING")
    portal("manage.py", "migrate", "--verbosity", "0")
    portal("manage.py", "load_resource", "survey.csv", "--id", ID)
    portal("-c", MAKE_USER)
    token = portal("manage.py", "create_api_token", "editor").strip()
    answer: dict[str, Any] = json.loads(portal("-c", ASK, token, ID))

    assert [record["code"] for record in answer["result"]["records"]] == ["007", "008"]


MAKE_USER = """
import django; django.setup()
from django.contrib.auth.models import User
User.objects.create_superuser("editor")
"""

ASK = """
import django, sys; django.setup()
from django.test import Client
response = Client(SERVER_NAME="localhost").post(
    "/vi/api/action/datastore_search",
    {"resource_id": sys.argv[2], "q": "river",
     "filters": {"subject": ["watershed", "survey"], "stage": "active"}},
    content_type="application/json", headers={"Authorization": sys.argv[1]},
)
print(response.content.decode())
"""

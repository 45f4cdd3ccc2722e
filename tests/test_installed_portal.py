"""The docs in a portal made by the tutorial, with the app installed from its wheel."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest

from .backups.servers import Server, find_machine_programs, run_server
from .test_portal import PAGE, change_settings, read_steps, run_steps

ROOT = Path(__file__).resolve().parent.parent
DOCS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
OPERATING, UNINSTALLING = (
    ROOT / "docs" / "how-to" / f"{name}.md" for name in ("operate", "uninstall")
)

#: What examples import and the tests do not install: polars, a generated client, models of a portal
#: and of Wagtail, of which ``tests/catalogue/test_sync.py`` runs the examples.
NOT_INSTALLED = ("polars", "portal_client", r"portal\.models", "wagtail")

#: Commands that tests of their own run: with files, a server, a terminal, or another database.
TESTED_ELSEWHERE = (
    *("load_resource", "createsuperuser", "create_api_token", "db_worker", "demo"),
    *("runserver", "serve", "shell"),
)

PORTAL_ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "portal.settings", "PYTHONPATH": ""}

#: An app of older releases of django-tasks, which are not installed.
OLDER = "django_tasks.backends.database"


class Portal(NamedTuple):
    """The tutorial's portal, and the server of its database."""

    server: Server
    folder: Path

    def run(self, *commands: str, **environment: str) -> str:
        text = ". .venv/bin/activate\n" + "\n".join(commands)
        environment = {**PORTAL_ENVIRONMENT, **environment}
        return self.server.run_commands(text, folder=self.folder, as_owner=False, **environment)

    def run_sql(self, statement: str) -> str:
        return self.server.run_sql(self.server.build_url("portal", role="portal"), statement)


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    folder = tmp_path_factory.mktemp("installed")
    with run_server(find_machine_programs()) as server:
        steps = read_steps()
        for statement in steps[3].split(";\n"):
            server.run_as_superuser(statement)
        run_steps(server, folder, steps[1], steps[2])
        made = Portal(server, folder / "portal")
        change_settings(made.folder / "portal" / "settings.py", server)
        (made.folder / "portal" / "urls.py").write_text(steps[5])
        made.run(steps[6], steps[7])
        printed = made.run("python -c 'import datastore_search; print(datastore_search.__file__)'")
        assert printed.startswith(str(made.folder.resolve() / ".venv")), printed
        yield made


def list_blocks(page: Path, *languages: str) -> list[str]:
    pattern = rf"^ *```(?:{'|'.join(languages)})\n(.*?)^ *```"
    blocks = re.findall(pattern, page.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


# Settings and examples ----------------------------------------------------------------------------


def is_settings(block: str) -> bool:
    return bool(re.match(r"(?:import .+\n+)*[A-Z][A-Z_]+\b.* \+?= ", block))


def complete_settings(block: str) -> str:
    """Complete a block, in which “...” or a comment with “…” stands for the portal's values."""
    block = re.sub(r"# … .*", "...,", block)
    before = "import os\nimport dj_database_url\nfrom django.conf.global_settings import STORAGES\n"
    statements = re.split(r"^(?=[A-Z][A-Z_]+\b)", block, flags=re.MULTILINE)
    for index, statement in enumerate(statements):
        name, _, value = statement.partition(" = ")
        own = f"*{name}" if value.startswith("[") else f"**{name}"
        statements[index] = statement.replace("...", own, 1).replace(", ...]", "]")
    # A page names the apps that it needs, and the portal of the tutorial has most of them.
    after = "\nINSTALLED_APPS = [*dict.fromkeys(INSTALLED_APPS)]\n"
    return f"from portal.settings import *\n{before}{''.join(statements)}{after}"


@pytest.mark.slow
def test_every_block_of_settings_passes_the_checks(portal: Portal) -> None:
    made_so = {*list_blocks(ROOT / "README.md", "python"), *list_blocks(PAGE, "python")}
    blocks = [block for page in DOCS for block in list_blocks(page, "python")]
    blocks = [block for block in blocks if block not in made_so and OLDER not in block]
    package = portal.folder / "portal"
    for block in blocks:
        if match := re.match(r"# portal/(\w+\.py)\n", block):
            with (package / match[1]).open("a") as module:
                module.write(block)
    names: list[str] = []
    for block in filter(is_settings, blocks):
        names.append(f"documented_{len(names)}")
        (package / f"{names[-1]}.py").write_text(complete_settings(block))

    portal.run(
        f"for name in {' '.join(names)}; do echo $name; done | xargs -P 2 -I{{}}"
        " python manage.py check --settings portal.{}",
        DATABASE_URL=portal.server.build_url("portal", role="portal"),
        READER_URL=portal.server.build_url("portal", role="portal"),
    )

    assert len(names) >= 19


@pytest.mark.slow
def test_every_example_in_python_imports_what_exists(portal: Portal) -> None:
    lines = ["import django", "django.setup()"]
    for page in DOCS:
        for block in list_blocks(page, "python"):
            if not is_settings(block):
                compile(block, str(page), "exec")
                lines += re.findall(r"^(?:from|import) .+$", block, re.MULTILINE)
    (portal.folder / "imports.py").write_text(
        "\n".join(
            line for line in lines if not re.match(rf"\w+ ({'|'.join(NOT_INSTALLED)})\b", line)
        )
    )

    portal.run("python imports.py")

    assert len(lines) >= 20


@pytest.mark.slow
def test_the_logging_of_the_docs_writes_lines_of_json(portal: Portal) -> None:
    (settings,) = (block for block in list_blocks(OPERATING, "python") if "LOGGING" in block)
    (portal.folder / "portal" / "logged.py").write_text(complete_settings(settings))

    printed = portal.run(
        "python -c 'import django, logging; django.setup();"
        ' logging.getLogger("datastore_search").warning("A line")\' 2>&1',
        DJANGO_SETTINGS_MODULE="portal.logged",
    )

    assert re.search(
        r'"level": "WARNING", "logger": "datastore_search", "message": "A line"', printed
    )


def test_every_extra_of_the_docs_exists() -> None:
    named = {
        extra
        for page in DOCS
        for extras in re.findall(r"datastore-search\[([\w,]+)\]", page.read_text())
        for extra in extras.split(",")
    }

    assert named
    assert named <= set(distribution("datastore-search").metadata.get_all("Provides-Extra", ()))


# Commands -----------------------------------------------------------------------------------------


def list_commands() -> list[str]:
    """List the lines of the docs that run a command of Django, without their place."""
    lines = [
        line
        for page in DOCS
        for block in list_blocks(page, "sh", "cron", "ini", "text")
        for line in block.replace("\\\n", "").splitlines()
        if "manage.py " in line and not line.startswith("DATABASE_URL=")
    ]
    return [re.sub(r"^.*?(?=\S*python manage\.py)", "", line) for line in lines]


def test_every_regular_command_changes_to_the_folder_of_the_portal() -> None:
    lines = [
        line
        for page in DOCS
        for block in list_blocks(page, "cron", "text")
        for line in block.splitlines()
        if "manage.py" in line
    ]

    assert len(lines) >= 4
    assert all(re.search(r"  cd /srv/portal && \S+/python manage\.py \w+", line) for line in lines)


@pytest.mark.slow
def test_every_command_of_the_docs_runs(portal: Portal) -> None:
    commands = [line.split("manage.py ", 1)[1] for line in list_commands()]
    others = [text for text in commands if not text.startswith((*TESTED_ELSEWHERE, *DROPPING))]

    portal.run(
        "export PYTHONWARNINGS=ignore",
        "echo \"STATIC_ROOT = BASE_DIR / 'static'\" >> portal/settings.py",
        "echo \"INSTALLED_APPS += ['datastore_search.contrib.operations']\" >> portal/settings.py",
        *(f"python manage.py {command}" for command in dict.fromkeys(others)),
    )

    assert {text.split()[0] for text in others} >= {
        "check", "collectstatic", "datastore_cleanup", "datastore_doctor", "migrate"
    }  # fmt: skip


#: Commands that the last tests of this module run.
DROPPING = ("migrate datastore_search", "migrate knox", "remove_stale_contenttypes")


@pytest.mark.slow
def test_a_portal_goes_back_and_forth_as_the_docs_say(portal: Portal) -> None:
    (back,) = {text for text in list_commands() if "migrate datastore_search 0" in text}

    portal.run(back, "python manage.py migrate")

    assert portal.run_sql("SELECT count(*) FROM datastore_search_resource") == "1\n"


#: Makes a token, and an entry of a write and one of the portal's own in the history of the admin.
HISTORY = """
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from datastore_search import interface
from datastore_search.web.tokens import issue_token
user = User.objects.create_superuser("historian")
issue_token(user)
interface.create(user, resource={"name": "written"}, fields=[{"id": "a"}], records=[{"a": 1}])
assert LogEntry.objects.count() == 1
own = ContentType.objects.get_for_model(User)
LogEntry.objects.create(user=user, content_type=own, object_id="1", object_repr="", action_flag=2)
"""


@pytest.mark.slow
def test_the_steps_of_uninstalling_leave_nothing(portal: Portal) -> None:
    *_of_an_app, delete, drop, types = list_blocks(UNINSTALLING, "sh")
    settings, urls = (portal.folder / "portal" / name for name in ("settings.py", "urls.py"))
    portal.run("python manage.py load_resource survey.csv --name again --private")

    portal.run(f"python manage.py shell -c {shlex.quote(HISTORY)}")

    urls.write_text("urlpatterns = []\n")
    portal.run(delete, drop)
    tokens = re.findall(r"`((?:from knox|AuthToken)[^`]*)`", UNINSTALLING.read_text())
    forget = shlex.quote("; ".join(reversed(tokens)))
    portal.run(f"python manage.py shell -c {forget}", "python manage.py migrate knox zero")
    settings.write_text(
        re.sub(
            r"(, )?'datastore_search[.\w]*'|^ *\"datastore_search.middleware.LocaleMiddleware\",\n",
            "",
            settings.read_text(),
            flags=re.MULTILINE,
        )
    )
    portal.run(types.replace("\n", " --no-input\n"))

    assert "datastore_search" not in settings.read_text()
    assert portal.run_sql("SELECT count(*) FROM django_admin_log") == "1\n"
    for rows in (
        "django_admin_log WHERE content_type_id IS NULL",
        "pg_class WHERE relname ~ 'knox'",
        "django_content_type WHERE app_label ~ 'datastore'",
        "auth_permission WHERE codename ~ 'resource'",
        "django_migrations WHERE app ~ 'datastore'",
    ):
        assert portal.run_sql(f"SELECT count(*) FROM {rows}") == "0\n", rows
    for catalogue in ("class", "proc", "type", "trigger", "constraint", "ts_config", "namespace"):
        name = {"class": "rel", "proc": "pro", "type": "typ", "trigger": "tg", "constraint": "con",
                "ts_config": "cfg", "namespace": "nsp"}[catalogue]  # fmt: skip
        left = portal.run_sql(
            f"SELECT {name}name FROM pg_{catalogue} WHERE {name}name ~ 'datastore'"
        )
        assert not left, left
    uploads = list(portal.folder.rglob("*survey*"))
    assert [path.name for path in uploads if ".venv" not in path.parts] == ["survey.csv"]

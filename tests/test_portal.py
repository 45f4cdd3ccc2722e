"""The tutorial “Your first portal”, followed from an empty folder to a backup."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.server import find_free_port

from .backups.servers import Server, find_machine_programs, run_server

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorials" / "first-portal.md"

#: The app is installed from its wheel; its packages are those of the tests.  The password is not
#: typed; the server starts beside the rest.
PREPARATION = f"""
pip() {{
    case "$*" in *datastore-search*)
        {sys.executable} -m pip wheel --quiet --no-deps --no-build-isolation \\
            --wheel-dir wheels {ROOT}
        python -m pip install --quiet --no-deps --no-index wheels/*.whl
    esac
    echo "import site; site.addsitedir('{sysconfig.get_path("purelib")}')" \\
        > "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
}}
export DJANGO_SUPERUSER_PASSWORD=secret
unset DJANGO_SETTINGS_MODULE PYTHONPATH
"""
WAIT = "curl --silent --output /dev/null --retry 60 --retry-connrefused --retry-delay 1 {}\n"


@pytest.fixture
def server() -> Iterator[Server]:
    with run_server(find_machine_programs()) as server:
        yield server


@pytest.mark.slow
def test_the_steps_of_the_tutorial_lead_to_a_portal_with_a_backup(
    server: Server, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{find_free_port()}"
    steps = read_steps()
    for statement in steps[3].split(";\n"):
        server.run_as_superuser(statement)

    run_steps(server, tmp_path, steps[1], steps[2])
    folder = tmp_path / "portal"
    change_settings(folder / "portal" / "settings.py", server)
    (folder / "portal" / "urls.py").write_text(steps[5])
    activate = ". .venv/bin/activate\n"
    run_steps(server, folder, activate, steps[6].replace("check", "check --fail-level WARNING"))
    with serve(server, folder, steps[9].replace("8000", address)):
        texts = [
            text.replace("127.0.0.1:8000", address)
            .replace("createsuperuser", "createsuperuser --noinput")
            .replace("--host=127.0.0.1", f"--host={server.folder}")
            for text in (steps[7], steps[8], WAIT.format(address), *map(steps.get, (10, 11, 12)))
            if text
        ]
        output = run_steps(server, folder, activate, *texts)
        anonymous = texts[-2].rpartition("\ncurl")[2].replace("$TOKEN", "")
        refused = json.loads(run_steps(server, folder, f"curl{anonymous}"))

    found, private = read_answers(output)
    assert [record["code"] for record in found["result"]["records"]] == ["008", "007"]
    assert [record["code"] for record in private["result"]["records"]] == ["007", "008", "009"]
    assert refused["error"]["__type"] == "Authorization Error"
    server.create_database("restored")
    restored = server.build_url("restored")
    server.run_commands(f"pg_restore --no-owner --dbname='{restored}' {folder}/portal.dump")
    statement = "SELECT name, private FROM datastore_search_resource ORDER BY name"
    assert server.run_sql(restored, statement) == "staff|t\nsurvey|f\n"


def read_steps() -> dict[int, str]:
    """Return the code of each step that is a single block, by its number."""
    chapters = re.split(r"^## (\d+)\. ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    steps = {}
    for number, text in zip(chapters[::2], chapters[1::2], strict=True):
        blocks = re.findall(r"^```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if len(blocks) == 1:
            steps[int(number)] = blocks[0]
    return steps


def change_settings(path: Path, server: Server, *own: str) -> None:
    """Change the settings as step 4 says, or with blocks of apps and middleware of one's own."""
    step = PAGE.read_text().partition("\n## 4. ")[2].partition("\n## ")[0]
    apps, middleware, databases = re.findall(
        r"^```python\n(.*?)^```", step, re.DOTALL | re.MULTILINE
    )
    apps, middleware = own or (apps, middleware)
    added = re.findall(r'^    "(.*)",$', apps, re.MULTILINE)
    (locale,) = re.findall(r'^    "datastore_search.*",\n', middleware, re.MULTILINE)
    before = '    "django.middleware.common.CommonMiddleware",\n'
    assert locale + before in middleware
    settings = path.read_text().replace("'", '"').replace(before, locale + before)
    databases = databases.replace("127.0.0.1", str(server.folder))
    path.write_text(f"{settings}\nINSTALLED_APPS += {added!r}\n{databases}")


def run_steps(server: Server, folder: Path, *texts: str) -> str:
    return server.run_commands(PREPARATION + "".join(texts), folder=folder)


@contextmanager
def serve(server: Server, folder: Path, text: str) -> Iterator[None]:
    """Run the commands of a second terminal within the block."""
    process = subprocess.Popen(
        ["bash", "-c", text],
        cwd=folder,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "portal.settings"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def read_answers(output: str) -> list[dict[str, Any]]:
    return [
        json.JSONDecoder().raw_decode(output, match.start())[0]
        for match in re.finditer(r'\{"help"', output)
    ]

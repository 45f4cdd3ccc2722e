"""The wheel and the sdist: what they hold, and that they install with and without extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.server import find_free_port

from .backups.servers import Server, find_machine_programs, run_server
from .test_portal import ROOT, WAIT, change_settings, read_answers, read_steps, serve

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: The extras of apps that have packages of their own.
APPS = {
    "files": ("duckdb", "python_calamine"),
    "agents": ("mcp",),
    "operations": ("health_check", "prometheus_client"),
    "openapi": ("drf_spectacular",),
}

pytestmark = pytest.mark.slow


class Built(NamedTuple):
    """A wheel that was built from the sdist, and both files' names."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("dist")
    run_hatchling(ROOT, "sdist", folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    run_hatchling(folder / sdist.name.removesuffix(".tar.gz"), "wheel", folder)
    (wheel,) = folder.glob("*.whl")
    return Built(wheel, sdist)


def run_hatchling(source: Path, target: str, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)


def add_needed(found: set[tuple[str, str]], text: str, given: str = "") -> None:
    """Add the package of a requirement with each of its extras, and what these bring."""
    needed = Requirement(text)
    if needed.marker and not needed.marker.evaluate({"extra": given}):
        return
    name = canonicalize_name(needed.name)
    for extra in ("", *needed.extras):
        if (name, extra) in found:
            continue
        found.add((name, extra))
        if name != PROJECT["name"]:
            brought = distribution(name).requires or []
        elif extra:
            brought = PROJECT["optional-dependencies"][extra]
        else:
            brought = PROJECT["dependencies"]
        for each in brought:
            add_needed(found, each, extra)


def install(folder: Path, wheel: Path, *extras: str) -> Path:
    """
    Install the wheel in an environment with the packages that it needs, and no other.

    These are links to the packages of the tests, whose versions are those of the constraints.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    run_pip(python, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    (site,) = folder.glob("lib/*/site-packages")
    needed = set[tuple[str, str]]()
    for requirement in (f"{PROJECT['name']}[{','.join(extras)}]", "psycopg[binary]"):
        add_needed(needed, requirement)
    for name in {name for name, _extra in needed} - {PROJECT["name"]}:
        for file in distribution(name).files or ():
            top = file.parts[0]
            source = Path(str(distribution(name).locate_file(top)))
            if top != ".." and source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)
    return python


def run_pip(python: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--python", str(python), *arguments]
    process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_both_files_have_the_version_and_what_each_app_needs(built: Built) -> None:
    version = run_python(sys.executable, "import datastore_search as d; print(d.__version__)")
    names = zipfile.ZipFile(built.wheel).namelist()
    kept = subprocess.run(
        ["git", "ls-files", "datastore_search"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()

    assert built.wheel.name == f"datastore_search-{version}-py3-none-any.whl"
    assert built.sdist.name == f"datastore_search-{version}.tar.gz"
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert set(kept) <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "datastore_search",
        f"datastore_search-{version}.dist-info",
    }


@pytest.mark.parametrize("extras", [(), *[(name,) for name in APPS], ("all",)], ids=str)
def test_a_wheel_has_the_packages_of_its_extras_and_no_other(
    built: Built, tmp_path: Path, extras: tuple[str, ...]
) -> None:
    python = install(tmp_path / "venv", built.wheel, *extras)

    assert "No broken requirements" in run_pip(python, "check")
    found = {name: has_module(python, name) for names in APPS.values() for name in names}
    wanted = {name for app in (APPS if extras == ("all",) else extras) for name in APPS[app]}
    assert {name for name, is_there in found.items() if is_there} == wanted


def has_module(python: Path, name: str) -> bool:
    code = f"from importlib.util import find_spec; print(find_spec({name!r}) is not None)"
    return run_python(python, code) == "True"


def run_python(python: Path | str, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": ""}
    command = [str(python), "-c", code]
    process = subprocess.run(
        command, cwd="/", env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return process.stdout.strip()


# The README ---------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Server]:
    with run_server(find_machine_programs()) as server:
        yield server


def test_the_five_steps_of_the_readme_add_the_core_alone(
    built: Built, server: Server, tmp_path: Path
) -> None:
    install(tmp_path / ".venv", built.wheel)
    for statement in read_steps()[3].split(";\n"):
        server.run_as_superuser(statement)
    text = (ROOT / "README.md").read_text().partition("\n## Add the core")[2]
    blocks = dict[str, list[str]]()
    for language, block in re.findall(
        r"^   ```(\w+)\n(.*?)^   ```", text, re.DOTALL | re.MULTILINE
    ):
        blocks.setdefault(language, []).append(re.sub("^   ", "", block, flags=re.MULTILINE))
    (apps, middleware, urls), (commands, request) = blocks["python"], blocks["sh"]
    address = f"127.0.0.1:{find_free_port()}"
    begin = "unset DJANGO_SETTINGS_MODULE PYTHONPATH\n. .venv/bin/activate\n"
    server.run_commands(f"{begin}python -m django startproject portal .", folder=tmp_path)
    change_settings(tmp_path / "portal" / "settings.py", server, apps, middleware)
    imports = read_steps()[5].partition("\nurlpatterns")[0]
    (tmp_path / "portal" / "urls.py").write_text(imports + urls)
    run = f"{begin}exec python manage.py runserver --noreload {address}\n"

    with serve(server, tmp_path, run):
        found = server.run_commands(
            f"{begin}export DJANGO_SUPERUSER_PASSWORD=secret\n"
            f"{commands.replace('createsuperuser', 'createsuperuser --noinput')}"
            f"python manage.py check --database default\n{WAIT.format(address)}"
            f"{request.replace('127.0.0.1:8000', address)}"
            f"curl 'http://{address}/vi/api/action/datastore_search?resource_id=rivers&q=bridge'",
            folder=tmp_path,
        )

    assert "System check identified no issues" in found
    made, searched = read_answers(found)
    assert made["success"]
    assert searched["success"], searched

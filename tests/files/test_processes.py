"""What a process keeps of a resource, when another process changes who may read it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from datastore_search.models import Resource

from ..builders import make_resource
from ..processes import PROJECT, build_database_url, build_environment

#: A process that does not answer is ended after this time.
MAX_SECONDS = 120

#: Answers each address of its input with the status.
PROGRAM = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
django.setup()
from django.test import Client
client = Client(headers={"Host": "localhost"})
for line in sys.stdin:
    address, _, tag = line.strip().partition(" ")
    response = client.get(address, headers={"If-None-Match": tag} if tag else {})
    print(response.status_code, response.get("ETag", ""), flush=True)
"""


@contextmanager
def run_server(uploads: Path) -> Iterator[Callable[..., tuple[int, str]]]:
    """Run another process of the portal; the result asks it for an address."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=PROJECT,
        env=build_environment(build_database_url(), uploads),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        input_, output = process.stdin, process.stdout
        watchdog = Timer(MAX_SECONDS, process.kill)
        watchdog.start()

        def ask(address: str, tag: str = "") -> tuple[int, str]:
            print(address, tag, file=input_, flush=True)
            status, _, etag = output.readline().strip().partition(" ")
            return int(status), etag

        try:
            yield ask
            input_.close()
            process.wait(MAX_SECONDS)
        finally:
            process.kill()
            watchdog.cancel()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_process_refuses_a_resource_that_has_turned_private(uploads: Path) -> None:
    resource = make_resource()
    addresses = [
        f"/en/api/action/datastore_search?resource_id={resource.pk}",
        f"/en/api/action/datastore_info?resource_id={resource.pk}",
        f"/en/datastore/dump/{resource.pk}",
        f"/en/datastore/{resource.pk}/",
        f"/en/datastore/{resource.pk}/schema.json",
    ]

    with run_server(uploads) as ask_one, run_server(uploads) as ask_other:
        servers = (ask_one, ask_other)
        before = [[ask(address) for address in addresses] for ask in servers]
        Resource.objects.filter(pk=resource.pk).update(private=True)
        after = [[ask(address) for address in addresses] for ask in servers]
        tags = [tag for _status, tag in before[0]]
        asked_again = [
            [ask(address, tag) for address, tag in zip(addresses, tags, strict=True)]
            for ask in servers
        ]

    assert [status for answers in before for status, _tag in answers] == [200] * 10
    assert all(tags)
    assert after == asked_again == [[(403, "")] * 5] * 2


#: Prints which of the modules of its arguments a web process has after its first requests.
IMPORTS = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
django.setup()
from django.test import Client
client = Client(headers={"Host": "localhost"})
for address in ("/datastore/", "/api/action/status_show", "/admin/login/"):
    status = client.get(address, follow=True).status_code
    assert status == 200, (address, status)
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""

#: What reads files and writes workbooks: a web process imports each when it needs it.
OF_WORKERS = (
    "duckdb",
    "pyarrow",
    "numpy",
    "pyogrio",
    "python_calamine",
    "xlrd",
    "xlsxwriter",
    "mcp",
)


def test_a_web_process_does_not_import_what_reads_files(db: None, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", IMPORTS, *OF_WORKERS],
        check=False,
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env=build_environment(build_database_url(), tmp_path),
        timeout=MAX_SECONDS,
    )

    assert process.stdout == "\n", process.stderr

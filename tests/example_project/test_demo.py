"""``make demo`` without the server: the sample data, and the printed text."""

from __future__ import annotations

import json
import re
import shlex
import socket
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource

from ..builders import ask, get_result, search
from ..files.reading import read_in_test_process
from ..shared import ModuleTransaction


@pytest.fixture(scope="module")
def _printed(module_transaction: ModuleTransaction) -> str:
    out = StringIO()
    with read_in_test_process():
        call_command("demo", "--port", "8123", stdout=out)
    return out.getvalue()


@pytest.fixture
def printed(_printed: str, db: None) -> str:
    """The demo's text; its resources are in the database."""
    return _printed


def test_the_printed_curl_command_works(client: Client, printed: str) -> None:
    command = shlex.split(printed[printed.index("curl -X POST") :].replace("\\\n", ""))
    url = command[3]
    headers = [command[index + 1] for index, word in enumerate(command) if word == "-H"]
    token = headers[0].removeprefix("Authorization: ")

    response = ask(
        client, command[-1], path=url.removeprefix("http://127.0.0.1:8123"), Authorization=token
    )

    assert len(get_result(response)["records"]) == 5


def test_the_admin_can_log_in_and_the_token_reads_private_tables(
    client: Client, printed: str
) -> None:
    (user, password), (token,) = (
        re.findall(r"user: (\S+) +password: (\S+)", printed)[0],
        re.findall(r"Token +(\S+)", printed),
    )
    private = Resource.objects.get(private=True)

    assert client.login(username=user, password=password)
    answer = search(Client(), private, token)
    assert get_result(answer)["total"] == 40


def test_every_value_of_every_type_comes_back(client: Client, printed: str) -> None:
    resource = Resource.objects.get(name="every-type")

    records = get_result(search(client, resource))["records"]

    assert len(records) == 12
    assert json.dumps(records)


def test_a_second_run_changes_nothing_but_the_password(printed: str) -> None:
    call_command("demo", stdout=StringIO())

    assert Load.objects.count() == Resource.objects.count() == 6


def test_a_port_on_which_another_portal_is_served_is_refused_before_anything_changes(
    printed: str,
) -> None:
    before = get_user_model().objects.get(username="admin").password
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as granian does
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        for command in ("demo", "serve"):
            with pytest.raises(
                CommandError, match=f"Port {port} cannot be used: .* PORT={port + 1}"
            ):
                call_command(command, "--port", str(port))

    assert get_user_model().objects.get(username="admin").password == before

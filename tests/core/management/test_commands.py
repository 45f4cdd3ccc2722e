"""The management commands of the core."""

from __future__ import annotations

import pytest
from django.core.management import CommandError
from django.test import Client

from ...builders import make_user, run_command


def test_create_api_token_prints_the_token_alone(client: Client, db: None) -> None:
    make_user("ann")

    out, _ = run_command("create_api_token", "ann")

    assert out.count("\n") == 1
    assert out.strip().isalnum()


def test_create_api_token_needs_a_user(db: None) -> None:
    with pytest.raises(CommandError, match="nobody"):
        run_command("create_api_token", "nobody")


@pytest.mark.needs("files")
def test_datastore_cleanup_counts_what_it_dropped(db: None) -> None:
    assert run_command("datastore_cleanup")[0] == "Dropped tables: 0.\n"

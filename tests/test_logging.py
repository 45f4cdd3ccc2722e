"""What the example portal writes to its log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client

from datastore_search.models import Resource


@contextmanager
def collect_lines(name: str) -> Iterator[list[str]]:
    """Collect what the handler of a logger writes within the block."""
    lines: list[str] = []
    logger, handler = logging.getLogger(name), logging.getLogger(name).handlers[0]

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            handler.filter(record)
            lines.append(handler.format(record))

    listener = Listener()
    logger.addHandler(listener)
    try:
        yield lines
    finally:
        logger.removeHandler(listener)


@pytest.mark.parametrize("logger", ["django", "datastore_search"])
def test_no_line_of_the_log_has_a_value_of_a_request(
    client: Client, resource: Resource, logger: str
) -> None:
    with collect_lines(logger) as lines:
        for address in (
            f"/en/api/3/action/datastore_search?id={resource.pk}&filters=zqsecret",
            "/en/api/3/action/datastore_search?id=unknown&q=zqsecret",
            "/en/api/3/action/datastore_search_sql?sql=SELECT+'a'~'(zqsecret'",
            "/en/api/3/action/datastore_search_sql?sql=SELECT+'a'~'(zqsecret'",
            f"/en/datastore/{resource.pk}/?q=zqsecret&page=x",
            "/en/nothing/?q=zqsecret",
        ):
            assert client.get(address).status_code >= 400

    assert lines or logger != "django"
    assert "zqsecret" not in "".join(lines)

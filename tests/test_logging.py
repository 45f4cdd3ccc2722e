"""What the example portal writes to its log."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from datastore_search.models import Resource


@pytest.mark.parametrize("logger", ["django", "datastore_search"])
def test_no_line_of_the_log_has_a_value_of_a_request(
    client: Client, resource: Resource, logger: str
) -> None:
    lines: list[str] = []
    handler = logging.getLogger(logger).handlers[0]

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            handler.filter(record)
            lines.append(handler.format(record))

    listener = Listener()
    logging.getLogger(logger).addHandler(listener)
    try:
        for address in (
            f"/en/api/3/action/datastore_search?id={resource.pk}&filters=zqsecret",
            "/en/api/3/action/datastore_search?id=unknown&q=zqsecret",
            f"/en/datastore/{resource.pk}/?q=zqsecret&page=x",
            "/en/nothing/?q=zqsecret",
        ):
            assert client.get(address).status_code >= 400
    finally:
        logging.getLogger(logger).removeHandler(listener)

    assert lines or logger != "django"
    assert "zqsecret" not in "".join(lines)

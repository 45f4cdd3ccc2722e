"""The settings: when they are read."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import override_settings

from datastore_search.conf import conf


def test_a_setting_is_read_again_after_a_change() -> None:
    assert conf.STREAMS_MAX == 2
    with override_settings(DATASTORE_SEARCH_STREAMS_MAX=7):
        assert conf.STREAMS_MAX == 7
    assert conf.STREAMS_MAX == 2


def test_what_depends_on_a_setting_follows_it() -> None:
    before = conf.READ_MEMORY_BYTES
    with override_settings(DATASTORE_SEARCH_LOAD_MEMORY_BYTES=conf.LOAD_MEMORY_BYTES + 5):
        assert before + 5 == conf.READ_MEMORY_BYTES


def test_a_setting_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    value = conf.LIMIT_DEFAULT

    # No signal is sent.
    monkeypatch.setattr(settings, "DATASTORE_SEARCH_LIMIT_DEFAULT", value + 1, raising=False)

    assert value == conf.LIMIT_DEFAULT

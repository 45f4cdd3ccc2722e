"""The settings: when they are read."""

from __future__ import annotations

from django.test import override_settings

from datastore_search.conf import conf


def test_a_setting_is_read_again_after_a_change() -> None:
    assert conf.MAX_STREAMS == 4
    with override_settings(DATASTORE_SEARCH_MAX_STREAMS=7):
        assert conf.MAX_STREAMS == 7
    assert conf.MAX_STREAMS == 4


def test_a_setting_is_kept_once_it_was_read() -> None:
    assert conf.MAX_STREAMS == 4

    assert vars(conf)["MAX_STREAMS"] == 4

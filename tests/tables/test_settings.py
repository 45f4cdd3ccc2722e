"""Each setting is read from the portal, checked at the start, and described."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks

from datastore_search.conf import list_settings

from ..test_docs import REFERENCE, parse_tables, read_text


@pytest.mark.parametrize("name", list_settings())
def test_a_setting_is_in_every_entrance(settings: Any, name: str) -> None:
    described = {
        each for table in parse_tables(read_text(REFERENCE / "settings.md")) for each in table.names
    }
    setattr(settings, name, object())

    assert name in described
    assert any(name in str(each.msg) for each in run_checks())

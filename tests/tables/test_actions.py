"""Each action can be called, describes itself, and stands in every description of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.api.actions import actions

from ..builders import act, get_result
from ..test_docs import get_page_path, read_text


@pytest.mark.parametrize("name", actions)
def test_an_action_is_in_every_entrance(
    client: Client, db: None, name: str, document: dict[str, Any]
) -> None:
    action, path = actions[name], f"/en/api/3/action/{name}"
    unknown = act(client, name, {"no_such_parameter": 1})
    by_get = client.get(path, {"no_such_parameter": 1})

    shown: Any = get_result(act(client, "help_show", {"name": name}), "help_show")

    assert shown == str(action.help)
    assert unknown.status_code in {403, 404, 409} or action.parameters.accepts_others
    assert by_get.status_code == (400 if action.is_writing else unknown.status_code)
    assert set(document["paths"][path]) == ({"post"} if action.is_writing else {"get", "post"})
    assert f"`{name}`" in read_text(get_page_path(name))
    assert json.loads(by_get.content)["help"].endswith(f"name={name}")
    with translation.override("de"):
        german = str(action.help)
    assert german != str(action.help)

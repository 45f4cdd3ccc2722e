"""What the OpenAPI document shows in the reader's language: nothing of it stays English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.utils import translation

from datastore_search.api.actions import actions
from datastore_search.api.parameters import ActionParameters
from datastore_search.contrib.analysis.parameter_types import OptionsListField
from datastore_search.downloads.parameters import DumpParameters
from datastore_search.filters.operators import operators

LOCALES = ("ar", "de", "es", "fr", "pt-br", "vi")


def list_tables(parameters: type[ActionParameters]) -> Iterator[type[ActionParameters]]:
    """List the parameters of an action, and the options of those that have some."""
    yield parameters
    fields: Mapping[str, Any] = parameters().get_fields()
    for field in fields.values():
        if isinstance(field, OptionsListField):
            yield field.options


def list_texts() -> list[str]:
    kinds: list[type[ActionParameters]] = [each.parameters for each in actions.values()]
    kinds.append(DumpParameters)
    return [
        *(
            str(field.help_text)
            for kind in kinds
            for table in list_tables(kind)
            for field in table.get_declared().values()
        ),
        *(str(each.help) for each in operators.values()),
    ]


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_of_a_parameter_is_english_in_another_language(locale: str) -> None:
    english = list_texts()
    with translation.override(locale):
        translated = list_texts()

    assert [one for one, other in zip(english, translated, strict=True) if one == other] == []

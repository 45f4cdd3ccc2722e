"""Files as offices send them are loaded right by what the screen says, in few clicks."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.models import LoadState
from datastore_search.models import Resource

from ...builders import ask, get_result
from . import awkward_files as files
from .forms import FORM, make_file

pytestmark = pytest.mark.usefixtures("read_here")

_BUTTON = re.compile(r'<button type="submit" name="(.*?)" value="(.*?)" class.*?>(.*?)</button>')
_INPUT = re.compile(r'<input type="(?:hidden|radio)" name="(.*?)" value="(.*?)"')


class Screen:
    """The preview of a draft as a person sees it: only the words of its buttons are known."""

    def __init__(self, client: Client, resource: Resource, content: bytes, name: str) -> None:
        page = f"/en/admin/datastore_search/resource/{resource.pk}/load/"
        response = client.post(page, {**FORM, "file": make_file(content, name)})
        self._client, self._address = client, response.headers["Location"]
        self.read()

    def read(self) -> str:
        self.page = self._client.get(self._address).content.decode()
        return self.page

    def click(self, words: str) -> None:
        """Press the button with these words; selects are sent as they stand."""
        buttons = {
            unescape(re.sub("<.*?>", "", label)): (unescape(name), unescape(value))
            for name, value, label in _BUTTON.findall(self.page)
        }
        assert words in buttons, (words, list(buttons))
        name, value = buttons[words]
        selects = re.findall(r'<select.*? name="(.*?)".*?</select>', self.page, re.DOTALL)
        chosen = {
            each: unescape(found[1])
            for each in selects
            if (found := re.search(rf'name="{each}".*?<option value="([^"]*)" selected', self.page))
        }
        seen = re.search(r'name="seen" value="(.*?)"', self.page)
        assert seen
        self._client.post(
            self._address, {**chosen, "seen": seen[1], "bad_rows": "refuse", name: value}
        )
        self.read()


@pytest.fixture
def empty(no_resource: None) -> Resource:
    return Resource.objects.create(name="empty")


#: A file, the buttons that are pressed before *Load*, and what is loaded.
FILES: dict[str, tuple[bytes, list[str], dict[str, str], int, dict[str, Any]]] = {
    "cover.xlsx": (
        files.COVER,
        ["Use the sheet “Data”"],
        {"road": "text", "opened": "date", "km": "numeric"},
        8,
        {"road": "N1", "opened": "2024-03-01", "km": "0.5"},
    ),
    "totals.csv": (
        files.TOTALS,
        ["Leave out the last rows (2)"],
        {"region": "text", "schools": "int4", "pupils": "int4"},
        3,
        {"region": "North", "schools": 12, "pupils": 3400},
    ),
    "unknown_dates.csv": (
        files.UNKNOWN_DATES,
        ["Treat “unknown” as empty"],
        {"permit": "text", "issued": "date"},
        32,
        {"permit": "P0", "issued": "2024-03-01"},
    ),
    "euros.csv": (
        files.EUROS,
        ["Read “Betrag” as number · 1.234,50 €"],
        {"Haushaltsstelle": "text", "Betrag": "numeric"},
        3,
        {"Haushaltsstelle": "0110", "Betrag": "12.50"},
    ),
    "doubtful_amounts.csv": (
        files.DOUBTFUL_AMOUNTS,
        ["Read “cost” as number · 1,234.50 USD"],
        {"project": "text", "cost": "numeric"},
        2,
        {"project": "Bridge", "cost": "1250"},
    ),
    "doubtful_dates.csv": (
        files.DOUBTFUL_DATES,
        ["Read “received” as date · 31/12/2024"],
        {"case": "text", "received": "date"},
        3,
        {"case": "A", "received": "2024-04-03"},
    ),
    "short_years.csv": (
        files.SHORT_YEARS,
        ["Read “sold” as date · 31/12/99"],
        {"plot": "int4", "sold": "date"},
        3,
        {"plot": 1, "sold": "1998-12-31"},
    ),
    "errors.xlsx": (
        files.ERRORS,
        ["Treat “#N/A” as empty"],
        {"school": "text", "pupils": "int4", "per teacher": "numeric"},
        3,
        {"school": "A", "pupils": 100, "per teacher": "12.5"},
    ),
    "titled.xlsx": (
        files.TITLED,
        ["Leave out the last rows (2)"],
        {"Ressort": "text", "Soll": "int4", "Ist": "int4"},
        2,
        {"Ressort": "Inneres", "Soll": 10, "Ist": 11},
    ),
    "month_names.csv": (
        files.MONTH_NAMES,
        ["Treat “-”, “n/a” as empty", "Read “measured” as date · 31 Dec 2024"],
        {"station": "text", "measured": "date", "level": "numeric"},
        6,
        {"station": "Hà Nội", "measured": "2024-03-12", "level": "1.5"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_screen_says_how_a_file_is_loaded_right(
    staff: Client, empty: Resource, name: str
) -> None:
    content, buttons, types, count, first = FILES[name]
    screen = Screen(staff, empty, content, name)

    for words in [*buttons, "Load"]:
        screen.click(words)

    load = empty.loads.get()
    assert (load.state, load.record_count) == (LoadState.READY, count)
    assert dict(empty.fields.values_list("name", "type")) == types
    result = get_result(ask(staff, {"resource_id": str(empty.pk), "limit": 100}))
    record = {name: value for name, value in result["records"][0].items() if name != "_id"}
    assert record == {
        name: Decimal(value) if types[name] == "numeric" else value for name, value in first.items()
    }

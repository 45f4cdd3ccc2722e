"""Files as offices send them are loaded right by what the screen says, in few clicks."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from html import unescape
from typing import Any

import openpyxl
import pytest
from django.test import Client

from datastore_search.contrib.files.models import LoadState
from datastore_search.models import Resource

from ...builders import get_result, search
from .forms import FORM, make_file

pytestmark = pytest.mark.usefixtures("read_here")

_BUTTON = re.compile(r'<button type="submit" name="(.*?)" value="(.*?)" class.*?>(.*?)</button>')


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


def build_csv(header: str, *rows: str, encoding: str = "utf-8") -> bytes:
    return "\n".join([header, *rows, ""]).encode(encoding)


def build_workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    workbook, file = openpyxl.Workbook(), io.BytesIO()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        if name == "Errors":
            for cell in sheet["C"]:
                cell.data_type = "e" if cell.value == "#N/A" else cell.data_type
    workbook.save(file)
    return file.getvalue()


_DAYS = [f"{day:02}/03/2024" for day in range(1, 29)]

#: A file, the buttons that are pressed before *Load*, and what is loaded.
FILES: dict[str, tuple[bytes, list[str], dict[str, str], int, dict[str, Any]]] = {
    "cover.xlsx": (
        # A cover sheet before the table.
        build_workbook(
            Cover=[
                ["Ministry of Transport"],
                [],
                ["Road works 2024"],
                ["Contact:", "data@transport.example"],
            ],
            Data=[
                ["road", "opened", "km"],
                *(["N1", date(2024, 3, day), day / 2] for day in range(1, 9)),
            ],
        ),
        ["Use the sheet “Data”"],
        {"road": "text", "opened": "date", "km": "numeric"},
        8,
        {"road": "N1", "opened": "2024-03-01", "km": "0.5"},
    ),
    "totals.csv": (
        # A total and a source directly below the rows, padded to the width of the table.
        build_csv(
            "region,schools,pupils",
            *("North,12,3400", "South,9,2100", "East,7,1800", "Total,28,7300"),
            "Source: Ministry of Education,,",
        ),
        ["Leave out the last rows (2)"],
        {"region": "text", "schools": "int4", "pupils": "int4"},
        3,
        {"region": "North", "schools": 12, "pupils": 3400},
    ),
    "unknown_dates.csv": (
        # Dates, of which four are a word.
        build_csv(
            "permit,issued", *(f"P{n},{day}" for n, day in enumerate(_DAYS)), *["P90,unknown"] * 4
        ),
        ["Treat “unknown” as empty"],
        {"permit": "text", "issued": "date"},
        32,
        {"permit": "P0", "issued": "2024-03-01"},
    ),
    "euros.csv": (
        # Amounts in euros with decimal commas, as German offices write them.
        build_csv(
            "Haushaltsstelle;Betrag",
            "0110;12,50 €",
            "0120;1.234,00 €",
            "0130;-7,25 €",
            encoding="cp1252",
        ),
        ["Read “Betrag” as number · 1.234,50 €"],
        {"Haushaltsstelle": "text", "Betrag": "numeric"},
        3,
        {"Haushaltsstelle": "0110", "Betrag": "12.50"},
    ),
    "doubtful_amounts.csv": (
        # Amounts with the code of a currency, which may be thousands or decimals.
        build_csv("project;cost", "Bridge;USD 1,250", "Road;USD 4,500"),
        ["Read “cost” as number · 1,234.50 USD"],
        {"project": "text", "cost": "numeric"},
        2,
        {"project": "Bridge", "cost": "1250"},
    ),
    "doubtful_dates.csv": (
        # Days that may be months.
        build_csv("case,received", "A,03/04/2024", "B,05/06/2024", "C,07/08/2024"),
        ["Read “received” as date · 31/12/2024"],
        {"case": "text", "received": "date"},
        3,
        {"case": "A", "received": "2024-04-03"},
    ),
    "short_years.csv": (
        # Years of two digits.
        build_csv("plot,sold", "1,31/12/98", "2,01/02/03", "3,15/06/19"),
        ["Read “sold” as date · 31/12/99"],
        {"plot": "int4", "sold": "date"},
        3,
        {"plot": 1, "sold": "1998-12-31"},
    ),
    "errors.xlsx": (
        # Errors of formulas.
        build_workbook(
            Errors=[
                ["school", "pupils", "per teacher"],
                ["A", 100, 12.5],
                ["B", 0, "#N/A"],
                ["C", 90, 9],
            ]
        ),
        ["Treat “#N/A” as empty"],
        {"school": "text", "pupils": "int4", "per teacher": "numeric"},
        3,
        {"school": "A", "pupils": 100, "per teacher": "12.5"},
    ),
    "titled.xlsx": (
        # A total in a sheet, after a title above the header, and a note below.
        build_workbook(
            Bericht=[
                ["Haushalt 2024"],
                [],
                ["Ressort", "Soll", "Ist"],
                *(["Inneres", 10, 11], ["Bau", 20, 19], ["Summe", 30, 30]),
                ["Quelle: Finanzministerium"],
            ]
        ),
        ["Leave out the last rows (2)"],
        {"Ressort": "text", "Soll": "int4", "Ist": "int4"},
        2,
        {"Ressort": "Inneres", "Soll": 10, "Ist": 11},
    ),
    "month_names.csv": (
        # Names of months, and two words for no value.
        build_csv(
            "station,measured,level",
            *("Hà Nội,12 Mar 2024,1.5", "Huế,3 April 2024,n/a", "Đà Nẵng,5 May 2024,2.25"),
            *("Vinh,6 May 2024,-", "Cần Thơ,7 May 2024,3.5", "Hải Phòng,8 May 2024,2.0"),
        ),
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
    result = get_result(search(staff, empty, limit=100))
    record = {name: value for name, value in result["records"][0].items() if name != "_id"}
    assert record == {
        name: Decimal(value) if types[name] == "numeric" else value for name, value in first.items()
    }


def test_merged_cells_are_filled_down_by_one_button_for_this_and_later_files(
    staff: Client, empty: Resource
) -> None:
    workbook, file = openpyxl.Workbook(), io.BytesIO()
    sheet = workbook.worksheets[0]
    sheet.append(["region", "district", "people"])
    for number, region in enumerate(["North", None, None, "South", None], start=1):
        sheet.append([region, f"district {number}", number])
    sheet.merge_cells("A2:A4")
    sheet.merge_cells("A5:A6")
    workbook.save(file)
    screen = Screen(staff, empty, file.getvalue(), "districts.xlsx")
    assert "Empty rows of merged cells: 3, in “region” (3)." in screen.page

    screen.click("Repeat the value in all rows")

    assert "Merged cells were filled down: 3, in “region” (3)." in screen.page
    screen.click("Load")
    result = get_result(search(staff, empty, fields="region"))
    assert [record["region"] for record in result["records"]] == ["North"] * 3 + ["South"] * 2
    page = staff.get(f"/en/admin/datastore_search/resource/{empty.pk}/load/").content.decode()
    assert re.search('<input type="checkbox" name="fill_merged"[^>]* checked', page)

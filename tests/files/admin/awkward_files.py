"""Ten files as offices send them; each needs a choice before it is loaded right."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from typing import Any

import openpyxl


def build_csv(header: str, *rows: str, encoding: str = "utf-8") -> bytes:
    return "\n".join([header, *rows, ""]).encode(encoding)


def build_workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """Build a workbook of sheets, by their names."""
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

#: A cover sheet before the table.
COVER = build_workbook(
    Cover=[
        ["Ministry of Transport"],
        [],
        ["Road works 2024"],
        ["Contact:", "data@transport.example"],
    ],
    Data=[["road", "opened", "km"], *(["N1", date(2024, 3, day), day / 2] for day in range(1, 9))],
)
#: A total and a source directly below the rows, padded to the width of the table.
TOTALS = build_csv(
    "region,schools,pupils",
    *("North,12,3400", "South,9,2100", "East,7,1800", "Total,28,7300"),
    "Source: Ministry of Education,,",
)
#: Dates, of which four are a word.
UNKNOWN_DATES = build_csv(
    "permit,issued", *(f"P{n},{day}" for n, day in enumerate(_DAYS)), *["P90,unknown"] * 4
)
#: Amounts in euros with decimal commas, as German offices write them.
EUROS = build_csv(
    "Haushaltsstelle;Betrag", "0110;12,50 €", "0120;1.234,00 €", "0130;-7,25 €", encoding="cp1252"
)
#: Amounts with the code of a currency, which may be thousands or decimals.
DOUBTFUL_AMOUNTS = build_csv("project;cost", "Bridge;USD 1,250", "Road;USD 4,500")
#: Days that may be months.
DOUBTFUL_DATES = build_csv("case,received", "A,03/04/2024", "B,05/06/2024", "C,07/08/2024")
#: Years of two digits.
SHORT_YEARS = build_csv("plot,sold", "1,31/12/98", "2,01/02/03", "3,15/06/19")
#: Errors of formulas.
ERRORS = build_workbook(
    Errors=[["school", "pupils", "per teacher"], ["A", 100, 12.5], ["B", 0, "#N/A"], ["C", 90, 9]]
)
#: A total in a sheet, after a title above the header, and a note below.
TITLED = build_workbook(
    Bericht=[
        ["Haushalt 2024"],
        [],
        ["Ressort", "Soll", "Ist"],
        *(["Inneres", 10, 11], ["Bau", 20, 19], ["Summe", 30, 30]),
        ["Quelle: Finanzministerium"],
    ]
)
#: Names of months, and two words for no value.
MONTH_NAMES = build_csv(
    "station,measured,level",
    *("Hà Nội,12 Mar 2024,1.5", "Huế,3 April 2024,n/a", "Đà Nẵng,5 May 2024,2.25"),
    *("Vinh,6 May 2024,-", "Cần Thơ,7 May 2024,3.5", "Hải Phòng,8 May 2024,2.0"),
)

"""Values that look like other values than they are."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case, explain_skipped_rows, explain_text

_DAY = "id: int4, day: date"
_DAY_AS_TEXT = "id: int4, day: text"

_NOT_EUROS = "The value is not of type number (as in 1234.50 €)."
_WITHOUT_UNIT = "Field “{}” has numbers as they are written, without the unit “{}”."

_SCHEMA = {
    "fields": [
        {"name": "id", "type": "string", "title": "Nummer"},
        {"name": "Tag", "type": "date", "format": "%d.%m.%Y", "description": "Tag der Buchung"},
        {"name": "Betrag", "type": "number", "groupChar": ".", "decimalChar": ","},
        {"name": "Wahr", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
        {"name": "Ort", "type": "geopoint", "constraints": {"required": True}},
    ],
    "missingValues": ["", "k.A."],
    "primaryKey": "id",
}

CASES = [
    Case(
        "dates_day_first.csv",
        "a day above 12 decides for all",
        fields=_DAY,
        records=[[1, "2024-12-31"], [2, "2024-02-01"], [3, None]],
    ),
    Case(
        "dates_ambiguous.csv",
        "no part is above 12",
        fields=_DAY_AS_TEXT,
        records=[[1, "01/02/2024"], [2, "03/04/2024"], [3, "12/12/2024"]],
        notices=[
            (
                "Field “day” stays text: it is not clear whether the day or the month comes "
                "first, as in “01/02/2024”. Choose date:dmy or date:mdy."
            )
        ],
    ),
    Case(
        "thousands_commas.csv",
        "commas between thousands and a decimal point",
        fields="id: int4, amount: numeric",
        records=[[1, 1234567.89], [2, 950], [3, -1000.5]],
    ),
    Case(
        "telephones.csv",
        "telephone numbers, one way or another",
        fields="id: int4, phone: text, grouped: text",
        records=[[1, "+84901234567", "603 123 456"], [2, "+84907654321", "777 000 111"]],
        notices=[
            (
                "Field “grouped” stays text: digits in groups of equal length, such as “603 "
                "123 456”, are treated as codes. If they are numbers, choose int4:spaced."
            )
        ],
    ),
    Case(
        "null_words.csv",
        "words that mean nothing by choice",
        LoadOptions(nulls=("NA", "-")),
        fields="id: int4, n: int4, day: date",
        records=[[1, 5, "2024-02-29"], [2, None, None], [3, None, "2024-03-01"]],
    ),
    Case(
        "truth_words.csv",
        "truth in words, more than one of them",
        LoadOptions(types={"mixed": "bool"}),
        fields="id: int4, mixed: bool, german: text, yes: text",
        records=[[1, True, "ja", "yes"], [2, True, "nein", "no"], [3, False, "ja", "yes"]],
        notices=[
            (
                "Field “mixed” is read as yes or no. Values that are returned differently: 1, such "
                "as “Yes”."
            )
        ],
    ),
    Case(
        "described.csv",
        "a Table Schema knows what the values do not tell",
        LoadOptions(schema=_SCHEMA),
        fields="id: text, Tag: date, Betrag: numeric, Wahr: text",
        records=[["1", "2024-02-01", 1234, "ja"], ["2", "2024-04-03", None, "nein"]],
        labels={"id": "Nummer"},
        notices=[
            (
                "The schema’s type boolean with the format default is not supported: the "
                "values of “Wahr” decide."
            ),
            (
                "The schema’s type geopoint with the format default is not supported: the "
                "values of “Ort” decide."
            ),
            "Parts of the schema are not used: constraints.",
        ],
    ),
    Case(
        "misfits.csv",
        "values that are not written as was chosen",
        LoadOptions(types={"day": "date:dmy", "n": "int4:point"}, bad_rows="skip"),
        fields="id: int4, day: date, n: int4",
        records=[[1, "2024-12-31", 1234]],
        notices=[explain_skipped_rows(2)],
        row_errors=[
            (3, "day", "12/31/2024", "The value is not of type date (as in 31/12/2024)."),
            (4, "n", "1,23", "The value is not of type whole number (as in 1,234)."),
        ],
    ),
    Case(
        "dates_with_months.csv",
        "English names of months, chosen for the file and for a field",
        LoadOptions(date_order="dmy", types={"at": "timestamp:dmyy,en"}),
        fields="id: int4, day: date, at: timestamp",
        records=[
            [1, "2024-02-03", "2021-02-03T14:30:00.000"],
            [2, "2024-11-12", "2068-02-29T09:05:00.000"],
        ],
    ),
    Case(
        "amounts.csv",
        "percentages and amounts as numbers, by choice",
        LoadOptions(types={"share": "numeric:comma,%", "price": "numeric:comma,€"}),
        fields="id: int4, share: numeric, price: numeric, profit: text",
        records=[[1, 12.5, 1234.5, "(1,234.00)"], [2, 100, 7, "5.50"], [3, 0.05, -3, "-1.25"]],
        notices=[
            "Field “share” has numbers as they are written, without the unit “%”.",
            "Field “price” has numbers as they are written, without the unit “€”.",
            explain_text("profit", 1, 3, 2, "“(1,234.00)”"),
        ],
    ),
    Case(
        "amounts_mixed.csv",
        "two currencies in one field",
        LoadOptions(types={"price": "numeric:€"}, bad_rows="skip"),
        fields="id: int4, price: numeric",
        records=[[1, 5]],
        notices=[_WITHOUT_UNIT.format("price", "€"), explain_skipped_rows(1)],
        row_errors=[(3, "price", "$ 6", _NOT_EUROS)],
    ),
]

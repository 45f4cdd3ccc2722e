"""Why a field is text although its values look like something else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from datastore_search.contrib.files.formats import staging
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import Notice
from datastore_search.contrib.files.types.inference import collect_type_notices, decide_formats

from ..formats.staging import stage_columns


def explain(values: Sequence[str | None]) -> str:
    """Give the reason for a column of text; nothing if there is none to give."""
    with stage_columns({"x": values}) as table:
        (decision,) = decide_formats(table, LoadOptions())
        assert decision.field_format.name == "text"
        return str(decision.explanation or "")


NUMBERS = [str(number) for number in range(100)]


@pytest.mark.parametrize(
    ("values", "exceptions"),
    [
        ([*NUMBERS, "n/a"], "1 of 101, the first in line 102: “n/a”"),
        (["1", "2", "n/a"], "1 of 3, the first in line 4: “n/a”"),
        ([*NUMBERS[:30], *["unknown"] * 20], "20 of 50, the first in line 32: “unknown”"),
        (
            [*NUMBERS[:40], " ", "N.d.", "-", "3%", "N.d."],
            "5 of 45, the first in line 42: “ ” (1), “N.d.” (2), “-” (1), “3%” (1)",
        ),
        (
            [*NUMBERS, *NUMBERS, *"abcdef", "b", "b", "c"][::-1],
            "9 of 209, the first in line 2: “c” (2), “b” (3), “f” (1), “e” (1), “d” (1)…",
        ),
        (["12,50 €", "k. A.", "1,00 €"], "1 of 3, the first in line 3: “k. A.”"),
    ],
)
def test_exceptions_among_numbers_are_listed(values: Sequence[str], exceptions: str) -> None:
    assert explain(values) == f"text: all values look like numbers, but {exceptions}"


UNLIKE = "but are not all written in one way, and would be returned differently"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["river", "lake"], ""),
        ([None, ""], "the field has no values"),
        ([*NUMBERS[:50], "a", "b", "c", "d"], ""),
        (["1", "x"], ""),
        (["+84901", "+84902"],
         "numbers would lose the leading sign of values, first in line 2: “+84901”"),
        (["12", " 07"],
         "numbers would lose the leading zeros of values, first in line 3: “ 07”"),
        (["1", "00", "7"], "numbers would lose the leading zeros of values, first in line 3: “00”"),
        (["1e5", "2"], "numbers would lose how values are written, first in line 2: “1e5”"),
        (["0", "-0"], "numbers would lose how values are written, first in line 3: “-0”"),
        (["12345678901234567890", "1"],
         ("whole numbers of more than 18 digits are treated as codes, first in line 2: "
          "“12345678901234567890”")),
        (["1,234.50", "1234.50"], f"the values look like numbers, {UNLIKE}"),
        (["31/12/2024", "30.12.2024"], f"the values look like dates, {UNLIKE}"),
        (["2024-12-31T10:00:00", "2024-12-31 10:00:00"],
         f"the values look like dates with a time, {UNLIKE}"),
        ([*(f"{day:02}/12/2024" for day in range(1, 31)), "31/11/2024"],
         "all values look like dates, but 1 of 31, the first in line 32: “31/11/2024”"),
        (["31/12/24"], "years of two digits are never guessed, as in line 2: “31/12/24”"),
        (["12 March 2024"],
         "English names of months are read by choice only, as in line 2: “12 March 2024”"),
        (["Mar 3, 99"],
         "English names of months are read by choice only, as in line 2: “Mar 3, 99”"),
        (["12,5 %"],
         "the unit of numbers is never left out without a choice, as in line 2: “12,5 %”"),
        (["€ 1.234,50"],
         "the unit of numbers is never left out without a choice, as in line 2: “€ 1.234,50”"),
    ],
)  # fmt: skip
def test_a_text_field_is_explained(values: Sequence[str | None], reason: str) -> None:
    assert explain(values) == (f"text: {reason}" if reason else "")


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (["2026-07-13", "14/07/2026"], ["date:dmy"]),
        (["2026-07-13", "07/14/2026"], ["date:mdy"]),
        (["2026-07-13", "03/04/2026"], ["date:dmy", "date:mdy"]),
        (["2026-07-13 00:00:00", "14/07/2026"], ["timestamp:dmy"]),
        (["2026-07-13T01:02:03.456Z", "14/07/2026"], ["date:dmy"]),
        (["31/12/2024", "30.12.2024"], ["date:dmy"]),
        (["2024-12-31T10:00:00", "2024-12-31 10:00:00"], ["timestamp"]),
        (["2024-12-31T10:00:00Z", "2024-12-31 10:00:00+01:00"], ["timestamptz"]),
    ],
)
def test_dates_that_are_written_in_several_ways_have_a_choice_that_keeps_all(
    values: list[str], formats: list[str]
) -> None:
    with stage_columns({"x": values}, declared_types=["text"]) as table:
        (decision,) = decide_formats(table, LoadOptions())

    assert decision.explanation is not None
    assert decision.explanation.code == "type.mixed_formats"
    assert decision.explanation.parameters["formats"] == formats
    for name in formats:
        with stage_columns({"x": values}, declared_types=["text"]) as table:
            decide_formats(table, LoadOptions(types={"x": name}))
            assert table.count_row_errors() == 0


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["10", " 9", "8"], "int8"),
        (["10.0", "  8.04", "2"], "numeric"),
        (["1,234.50", "1234.50"], "numeric:point"),
        (["−5", "3", "−12.5"], "numeric:point"),
        (["−5,25", "3"], "numeric:comma"),
    ],
)
def test_numbers_with_blanks_or_several_ways_have_a_choice_that_keeps_all(
    values: list[str], name: str
) -> None:
    with stage_columns({"x": values}) as table:
        (decision,) = decide_formats(table, LoadOptions())

    assert str(decision.explanation) == f"text: the values look like numbers, {UNLIKE}"
    assert decision.explanation
    assert decision.explanation.parameters["formats"] == [name]
    with stage_columns({"x": values}) as table:
        decide_formats(table, LoadOptions(types={"x": name}))
        assert table.count_row_errors() == 0


def test_digits_that_a_file_has_as_texts_are_explained_by_that() -> None:
    with stage_columns({"year": ["1565", "1570"]}, declared_types=["text"]) as table:
        (decision,) = decide_formats(table, LoadOptions())

    assert str(decision.explanation) == "text: declared in the file"


def test_the_sample_covers_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_MAX_SAMPLE_ROWS", 10)

    text = explain(["x"] * 30 + [str(number) for number in range(1_000)])

    assert text == "text: all values look like numbers, but 30 of 1030, the first in line 2: “x”"


def test_ambiguous_values_have_a_notice_which_is_their_explanation() -> None:
    columns = {
        "day": ["1/2/2024", ""],
        "comma": ["1,234", "1"],
        "n": ["1.234", ""],
        "phone": ["1 234 567", "2 345 678"],
        "compact": ["10142018", "12012018"],
        "code": ["10142018", "99142018"],
        "gone": ["x", ""],
    }
    with stage_columns(columns) as table:
        options = LoadOptions(saved_types={"lost": "int4"})
        decisions = decide_formats(table, options)
        notices = collect_type_notices(table, options, decisions)

    rendered = [str(Notice.from_json(notice.to_json())) for notice in notices]
    assert rendered == [
        "The type kept for “lost” was not applied: the file has no such field.",
        (
            "Field “day” stays text: it is not clear whether the day or the month comes "
            "first, as in “1/2/2024”. Choose date:dmy or date:mdy."
        ),
        (
            "Field “comma” stays text: the comma may separate thousands or decimals, as in "
            "“1,234”. Choose int4:point or numeric:comma."
        ),
        (
            "Field “n” is read with a decimal point: “1.234”. If the point separates "
            "thousands, choose int4:comma."
        ),
        (
            "Field “phone” stays text: digits in groups of equal length, such as “1 234 567”, "
            "are treated as codes. If they are numbers, choose int4:spaced."
        ),
        "Field “compact” has whole numbers that may be days, such as “10142018”.",
    ]
    assert notices[-1].parameters["formats"] == ["date:mdy"]
    assert [str(decision.explanation) for decision in decisions[:2]] == rendered[1:3]


def test_a_type_is_chosen_or_declared_or_of_all_values_and_says_so() -> None:
    columns: dict[str, Sequence[str | None]] = {
        **dict.fromkeys(("int", "digits", "chosen"), ("1", "2")),
        "wrong": ["1", "x"],
        "day": ["2024-02-29", None],
        "empty": [None, None],
        "order": ["01/02/2024", None],
    }
    labels = ["int", "digits", "A label", "wrong", "day", "empty", "order"]
    declared = ["float8", "text", "int4", "int4", "text", "bool", None]
    options = LoadOptions(types={"A label": "text"}, date_order="dmy")
    with stage_columns(columns, labels=labels, declared_types=declared) as table:
        decisions = decide_formats(table, options)

    assert [decision.field_format.name for decision in decisions] == [
        "float8", "text", "text", "text", "date", "bool", "date:dmy",
    ]  # fmt: skip
    assert [str(decisions[position].explanation) for position in (0, 2, 4, 6)] == [
        "number: declared in the file",
        "text: chosen",
        "date: all values are of this type",
        "date (as in 31/12/2024): the order of dates was chosen; the values leave it open",
    ]
    assert [decision.is_chosen for decision in decisions] == [False] * 2 + [True] + [False] * 4

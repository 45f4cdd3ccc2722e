"""Names made of headers, what is said of them, and footers."""

from __future__ import annotations

import pytest

from datastore_search.contrib.files.formats.headers_and_footers import (
    LastRow,
    clean_labels,
    describe_name_changes,
    find_footer,
    make_unique_names,
)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (("a", "a", "", "a_2", "_id"), ("a", "a_2", "field_3", "a_2_2", "_id_2")),
        (("", "field_1"), ("field_1", "field_1_2")),
        (("Name", "name", "NAME"), ("Name", "name", "NAME")),
        (("  x\ny ", "tab\there", "no\u00a0break"), ("x y", "tab here", "no break")),
        (("zero\u200bwidth", "\ufeffmark", "\x1b[31mred"), ("zero width", "mark", "[31mred")),
        (("e\u0301", "é"), ("é", "é_2")),
        (("n" * 300, "n" * 300), ("n" * 200, "n" * 198 + "_2")),
        (("\ud800", "a\0b"), ("�", "a�b")),
        (("tên", "名字", "имя"), ("tên", "名字", "имя")),
    ],
)
def test_names_are_unique_and_usable(header: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert make_unique_names(header) == names


def test_many_equal_names_are_numbered_in_no_time() -> None:
    names = make_unique_names(["a"] * 1_600)

    assert names[:3] == ("a", "a_2", "a_3")
    assert names[-1] == "a_1600"


def test_names_that_are_missing_or_repeated_are_said_once_with_their_fields() -> None:
    header = ("a", "", "a", "", "_id", "two\nlines", "n" * 201)

    said = [str(notice) for notice in describe_name_changes(header, make_unique_names(header))]

    assert said == [
        "Fields without a name were named by their position: field_2, field_4.",
        "Repeated names got a number: a_2, _id_2.",
    ]


def test_only_some_of_many_fields_are_named() -> None:
    header = [""] * 300

    (said,) = describe_name_changes(header, make_unique_names(header))

    assert str(said).endswith("field_19, field_20, ….")


def test_nothing_is_said_of_a_header_that_is_kept() -> None:
    header = ("a", " b ", "tên", "_hidden", 'with "quotes"')

    assert [*describe_name_changes(header, make_unique_names(header))] == []


def test_a_label_is_the_header_cut_to_what_can_be_kept() -> None:
    assert clean_labels(("two\nlines", "x" * 600, "\0\udfff")) == ("two\nlines", "x" * 500, "��")


_FOOTERS = (
    *("Total", "TOTAL:", "Grand total", "Summe", "Insgesamt", "Total général", "Tổng cộng"),
    *("المجموع", "Source: Ministry", "Quelle: Amt", "Nguồn: Bộ", "المصدر: الوزارة", "Note : x"),
)
_OTHERS = ("", "Total cost of roads", "Sources of the Nile", "Summer", "Notes", "Source")


@pytest.mark.parametrize(
    ("text", "footer"), [*((text, [3]) for text in _FOOTERS), *((text, []) for text in _OTHERS)]
)
def test_a_word_begins_a_footer(text: str, footer: list[int]) -> None:
    rows = [LastRow(2, 2, 2, "row"), LastRow(3, 3, 2, text)]

    assert find_footer(rows, width=2) == footer

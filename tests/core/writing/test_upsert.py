"""``datastore_upsert``: records are added or updated by key or ``_id``."""

from __future__ import annotations

from typing import Any

import pytest

from .tables import Table

DUPLICATE = "a record with the same primary key already exists."
MAX_ID = 2**53 - 1


@pytest.fixture
def keyless(stock: Table) -> Table:
    """``stock`` without its primary key."""
    stock.run("create", primary_key=[])
    return stock


# Results ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "result"),
    [
        ({"records": None, "method": ""}, {"method": "upsert"}),
        ({"records": "[]", "method": "insert"}, {"method": "insert"}),
        ({"calculate_record_count": True, "force": True}, {"method": "upsert"}),
        ({"include_records": False}, {"method": "upsert", "include_records": False}),
        (
            {"include_records": "yes", "dry_run": 1},
            {"method": "upsert", "include_records": True, "dry_run": True, "records": []},
        ),
    ],
)
def test_the_answer_repeats_the_parameters(
    stock: Table, parameters: dict[str, Any], result: dict[str, Any]
) -> None:
    assert stock.run("upsert", **parameters) == {"resource_id": stock.id, **result}


def test_an_update_changes_only_the_members_that_are_sent(stock: Table) -> None:
    stock.upsert({"code": "a", "name": None}, {"code": "b", "count": ""}, method="update")

    assert stock.read_values("name") == [None, "bread", None]
    assert stock.read_values("count") == [1, None, None]
    assert stock.read_values("amount") == [1.5, 2.0, None]


def test_the_records_come_back_whole_as_stored_and_by_id(stock: Table) -> None:
    result = stock.upsert(
        {"code": "d", "count": "4"},
        {"code": "c", "amount": "3.50"},
        {"code": "a", "name": "ácaí"},
        include_records=True,
    )

    assert result["records"] == [
        {"_id": 1, "code": "a", "name": "ácaí", "count": 1, "amount": 1.5},
        {"_id": 3, "code": "c", "name": None, "count": None, "amount": 3.5},
        {"_id": 4, "code": "d", "name": None, "count": 4, "amount": None},
    ]


def test_more_records_than_a_page_come_back(table: Table) -> None:
    table.run("create", fields=[{"id": "n", "type": "int4"}], primary_key=["n"])

    result = table.upsert(*({"n": number} for number in range(1_500)), include_records=True)

    assert [record["n"] for record in result["records"]] == list(range(1_500))
    assert table.count_records() == (1_500, 1_500)


def test_totals_and_words_are_right_after_each_write(stock: Table) -> None:
    def search() -> tuple[list[int], list[int], list[int]]:
        assert stock.count_records() == (len(stock.read_ids()), len(stock.read_ids()))
        return stock.read_ids(), stock.read_ids(q="apple"), stock.read_ids(q="pear")

    stock.upsert({"code": "a", "name": "pear"})
    assert search() == ([1, 2, 3], [], [1])
    stock.insert({"code": "d", "name": "apple pear"})
    assert search() == ([1, 2, 3, 4], [4], [1, 4])
    stock.upsert({"_id": 1, "name": "apple", "code": "z"})
    assert search() == ([1, 2, 3, 4], [1, 4], [4])
    stock.upsert({"code": "d", "name": None}, method="update")
    assert search() == ([1, 2, 3, 4], [1], [])
    stock.run("delete", filters={"name": "apple"})
    assert search() == ([2, 3, 4], [], [])


def test_writing_makes_the_resource_newer(stock: Table) -> None:
    before = stock.resource.modified_at
    stock.upsert({"code": "a"}, dry_run=True)
    assert stock.resource.modified_at == before

    stock.upsert({"code": "a"})

    assert stock.resource.modified_at > before


# Refusals -----------------------------------------------------------------------------------------

METHODS = "Value must be one of upsert, insert, update"
NOT_A_LIST = "Must be a list of objects."
KEY_MISSING = "fields of the primary key are missing: code"
NO_ID = f"“_id” must be a whole number from 1 to {MAX_ID}."

REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"method": ["upsert"]}, {"method": [METHODS]}),
    ({"records": {"code": "a"}}, {"records": [NOT_A_LIST]}),
    ({"records": [None]}, {"records": [NOT_A_LIST]}),
    ({"records": "a"}, {"records": ["Cannot parse JSON"]}),
    ({"fields": [], "method": 5}, {
        "__extras": ["There is no parameter “fields”."], "method": [METHODS],
    }),
    ({"resource_id": None}, {"resource_id": ["Missing value"]}),
    ({"records": [{"code": "a"}, {"name": "x"}]}, {
        "key": [f"Record 2: {KEY_MISSING}"], "records_row": 1,
    }),
    ({"records": [{"code": "a"}, {"code": None}], "method": "update"}, {
        "key": ["Record 2: no record has this key."], "records_row": 1,
    }),
    ({"records": [{"_id": 3}, {"_id": 4}], "method": "update"}, {
        "key": ["Record 2: no record has this key."], "records_row": 1,
    }),
    ({"records": [{"code": "z"}, {"code": "a"}], "method": "insert"}, {
        "records": [f"Record 2: {DUPLICATE}"], "records_row": 1,
    }),
    ({"records": [{"code": "z"}, {"code": "z"}], "method": "insert"}, {
        "records": [f"Record 2: {DUPLICATE}"], "records_row": 1,
    }),
    ({"records": [{"_id": 1, "code": "b"}]}, {
        "records": ["Two records would have the same primary key."],
    }),
    ({"records": [{"_id": 9, "code": "b"}]}, {
        "records": ["Two records would have the same primary key."],
    }),
    ({"records": [{"code": "a", "colour": 1}], "method": "update"}, {
        "fields": ["Record 1: unknown field “colour”"], "records_row": 0,
    }),
    ({"records": [{"code": "z"}, {"code": "y", "colour": 1}], "method": "insert"}, {
        "records": ["Record 2: unknown field “colour”"], "records_row": 1,
    }),
    ({"records": [{"_id": 9, "code": "z"}], "method": "insert"}, {
        "records": ["Record 1: unknown field “_id”"], "records_row": 0,
    }),
    ({"records": [*({"code": code} for code in "vwxyz"), {"code": "u", "count": 1.5}]}, {
        "records": ["Record 6: field “count” has type int4 and cannot hold 1.5."],
        "records_row": 5,
    }),
    ({"records": [
        {"code": "a", "count": "few"}, {"code": "z"}, {"code": "y", "colour": 1, "count": "x"},
        {"amount": 1}, {"code": "x", "count": 1, "amount": "1 March"}, {"code": "w", "count": 1.5},
        {"_id": 0},
    ]}, {
        "records": [
            'Record 1: field “count” has type int4 and cannot hold "few".',
            'Record 5: field “amount” has type numeric and cannot hold "1 March".',
            "Record 6: field “count” has type int4 and cannot hold 1.5.",
        ],
        "fields": ["Record 3: unknown field “colour”"],
        "key": ["Record 4: fields of the primary key are missing: code", f"Record 7: {NO_ID}"],
        "records_row": 0,
    }),
    ({"records": [{"code": str(number), "count": "few"} for number in range(1000)]}, {
        "records": [
            f'Record {number}: field “count” has type int4 and cannot hold "few".'
            for number in range(1, 21)
        ],
        "records_row": 0,
    }),
    ({"records": [{"code": "a", "amount": "much"}], "method": "update"}, {
        "records": ['Record 1: field “amount” has type numeric and cannot hold "much".'],
        "records_row": 0,
    }),
    ({"records": [{"code": "a", "count": ["x" * 200]}]}, {
        "records": [
            'Record 1: field “count” has type int4 and cannot hold ["' + "x" * 98 + "…."
        ],
        "records_row": 0,
    }),
    ({"records": [{"code": "a"}, {"code": "z", "amount": "1e131071"}]}, {
        "records": [
            (
                "Record 2: field “amount” has numbers with exponents that are too long when they"
                " are written out; each may have 1000 digits."
            )
        ],
        "records_row": 1,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "error"), REFUSED)
def test_a_refused_call_names_the_error_and_changes_nothing(
    stock: Table, parameters: dict[str, Any], error: dict[str, Any]
) -> None:
    before = stock.read_state()

    for dry_run in (False, True):
        assert stock.get_refusal("upsert", **parameters, dry_run=dry_run) == error
    assert stock.read_state() == before


def test_an_id_is_a_whole_number_that_every_client_can_represent(stock: Table) -> None:
    before = stock.read_state()

    for invalid_id in (0, 1.5, "x", "", None, True, [1], MAX_ID + 1, str(MAX_ID + 1), 1e300):
        error = stock.get_refusal("upsert", records=[{"_id": 1}, {"_id": invalid_id}])
        assert error == {"key": [f"Record 2: {NO_ID}"], "records_row": 1}, invalid_id
    assert stock.read_state() == before


def test_without_a_key_records_must_have_their_id(keyless: Table) -> None:
    before = keyless.read_state()

    for method in ("upsert", "update"):
        error = keyless.get_refusal("upsert", records=[{"_id": 1}, {"code": "a"}], method=method)
        assert error == {"table": ["The resource has no primary key: records must have “_id”."]}
    assert keyless.read_state() == before


# Keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "first", "same"),
    [
        ("numeric", "1.5", "1.50"),
        ("text", "é", "é"),
        ("timestamptz", "2024-02-29T12:00Z", "2024-02-29T14:00+02:00"),
        ("json", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ("json", [1.5], [1.50]),
        ("json", '[{"a": 1.5}]', '[{"a": 1.5}]'),
        ("_float8", [1], "{1.0}"),
    ],
)
def test_new_records_with_the_same_key_become_one(
    table: Table, kind: str, first: Any, same: Any
) -> None:
    table.run("create", fields=[{"id": "k", "type": kind}, {"id": "v"}], primary_key=["k"])

    table.upsert({"k": first, "v": "x"}, {"k": same, "v": "y"})

    assert table.read_values("v") == ["y"]
    assert table.get_refusal("upsert", records=[{"k": same}], method="insert")["records_row"] == 0


def test_json_keys_of_one_call_are_the_same_when_their_numbers_are(table: Table) -> None:
    table.run("create", fields=[{"id": "k", "type": "json"}], primary_key=["k"])

    table.upsert(*({"k": number} for number in (1.5, 2)), {"k": None}, {"k": None})
    table.run("upsert", records='[{"k": [1.5]}, {"k": [1.50]}, {"k": 2.0}]')

    assert table.read_values("k") == [1.5, 2, None, None, [1.5]]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_key_may_be_nested_as_deep_as_a_value(table: Table, opening: str, closing: str) -> None:
    table.run("create", fields=[{"id": "k", "type": "json"}], primary_key=["k"])
    statuses = []

    for depth in (10, 200, 400, 450, 500, 1_000):
        nested = opening * depth + "1" + closing * depth
        response = table.call("upsert", records=f'[{{"k": {nested}}}, {{"k": {nested}}}]')
        statuses.append(response.status_code)

    assert statuses == sorted(statuses)
    assert set(statuses) <= {200, 409}
    assert statuses[1] == 200


def test_later_records_of_a_call_update_earlier_ones(stock: Table) -> None:
    result = stock.upsert(
        {"code": "a", "name": "first", "count": 5},
        {"code": "d", "name": "first", "count": 6},
        {"_id": 1, "name": "second"},
        {"code": "d", "amount": "1.00"},
        {"code": "a", "count": None},
        {"code": "d", "name": "third"},
        include_records=True,
    )

    assert result["records"] == [
        {"_id": 1, "code": "a", "name": "second", "count": None, "amount": 1.5},
        {"_id": 4, "code": "d", "name": "third", "count": 6, "amount": 1.0},
    ]
    assert stock.read_records(filters={"code": ["a", "d"]}) == result["records"]
    assert stock.count_records() == (4, 4)


@pytest.mark.parametrize("method", ["upsert", "insert"])
def test_a_key_with_a_null_is_always_new(table: Table, method: str) -> None:
    table.run("create", fields=[{"id": "a"}, {"id": "b"}], primary_key=["a", "b"])
    records = [{"a": "x", "b": None}, {"a": None, "b": None}, {"a": "x", "b": None}]

    table.upsert(*records, method=method)
    table.upsert(*records, method=method)

    assert table.read_values("a") == ["x", None, "x"] * 2
    assert table.count_records() == (6, 6)


def test_an_empty_text_in_a_key_is_a_value(stock: Table) -> None:
    stock.upsert({"code": "", "name": "x"})
    stock.upsert({"code": "", "name": "y"}, {"code": None, "name": "z"})

    assert stock.read_values("code") == ["a", "b", "c", "", None]
    assert stock.read_values("name")[3:] == ["y", "z"]


def test_a_key_of_several_fields_needs_them_all(table: Table) -> None:
    table.run(
        "create", fields=[{"id": "a"}, {"id": "b", "type": "numeric"}, {"id": "v"}],
        primary_key=["b", "a"], records=[{"a": "x", "b": "1.0"}, {"a": "y", "b": 1}],
    )  # fmt: skip

    table.upsert({"a": "x", "b": 1, "v": "one"}, {"b": 2, "a": "x"})

    assert table.read_values("v") == ["one", None, None]
    assert table.get_refusal("upsert", records=[{"a": "x", "b": 1}, {"a": "x"}]) == {
        "key": ["Record 2: fields of the primary key are missing: b"],
        "records_row": 1,
    }
    assert table.get_refusal("upsert", records=[{"v": "x"}], method="update") == {
        "key": ["Record 1: fields of the primary key are missing: b, a"],
        "records_row": 0,
    }
    table.insert({"a": "x"}, {"v": "x"})
    assert table.count_records() == (5, 5)


# By _id -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record_id", [" 2 ", 2.0])
def test_records_with_an_id_are_identified_by_it(keyless: Table, record_id: Any) -> None:
    keyless.upsert({"_id": record_id, "name": "buns"})
    keyless.upsert({"_id": record_id, "count": 9}, method="update")

    assert keyless.read_values("name") == ["apple", "buns", None]
    assert keyless.read_values("count") == [1, 9, None]


def test_the_id_overrides_the_key_which_can_be_changed_by_it(stock: Table) -> None:
    stock.upsert({"_id": 2, "code": "z"})

    assert stock.read_values("code") == ["a", "z", "c"]
    stock.upsert({"code": "b"})
    assert stock.read_values("code") == ["a", "z", "c", "b"]


def test_an_upsert_may_choose_a_new_id_and_the_next_ids_follow(keyless: Table) -> None:
    keyless.upsert({"_id": 10, "code": "ten"}, {"_id": 7, "code": "seven"})
    keyless.insert({"code": "next"})

    assert keyless.read_ids() == [1, 2, 3, 7, 10, 11]
    keyless.upsert({"_id": 5, "code": "five"})
    keyless.insert({"code": "last"})
    assert keyless.read_ids() == [1, 2, 3, 5, 7, 10, 11, 12]
    assert keyless.count_records() == (8, 8)


def test_chosen_and_assigned_ids_may_be_in_one_call(stock: Table) -> None:
    result = stock.upsert(
        {"code": "x"}, {"_id": 4, "code": "four"}, {"code": "y"}, include_records=True
    )

    assert [(each["_id"], each["code"]) for each in result["records"]] == [
        (4, "four"), (5, "x"), (6, "y"),
    ]  # fmt: skip


def test_a_new_id_sent_twice_is_one_record(keyless: Table) -> None:
    keyless.upsert({"_id": 9, "code": "x", "name": "first"}, {"_id": 9, "name": "second"})

    assert keyless.read_records(filters={"_id": 9}) == [
        {"_id": 9, "code": "x", "name": "second", "count": None, "amount": None}
    ]
    assert keyless.count_records() == (4, 4)


def test_a_record_can_be_added_by_id_alone(stock: Table) -> None:
    stock.upsert({"_id": MAX_ID})

    assert stock.read_records(filters={"_id": MAX_ID}) == [
        {"_id": MAX_ID, "code": None, "name": None, "count": None, "amount": None}
    ]


def test_ids_are_never_assigned_again(stock: Table) -> None:
    stock.run("delete", filters={"_id": 3})
    stock.insert({"code": "d"})
    assert stock.read_ids() == [1, 2, 4]

    stock.run("records_delete", filters={})
    stock.insert({"code": "e"})
    assert stock.read_ids() == [5]

    stock.upsert({"_id": 20, "code": "f"})
    stock.run("delete", filters={"_id": 20})
    stock.run("create", records=[{"code": "g"}])
    assert stock.read_ids() == [5, 21]


def test_a_known_record_uses_no_id(stock: Table) -> None:
    for _time in range(5):
        stock.upsert({"code": "a"}, {"code": "b"}, {"_id": 3})

    stock.upsert({"code": "d"})

    assert stock.read_ids() == [1, 2, 3, 4]


# dry_run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"records": [{"code": "a", "name": "x"}, {"code": "d"}]},
        {"records": [{"code": "d"}, {"code": "e"}], "method": "insert"},
        {"records": [{"_id": 50, "code": "z"}, {"_id": 1, "code": "y"}, {"code": "x"}]},
    ],
)
def test_a_dry_run_answers_like_the_call_and_leaves_nothing(
    stock: Table, parameters: dict[str, Any]
) -> None:
    before = stock.read_state()

    dry_result = stock.run("upsert", **parameters, dry_run=True, include_records=True)

    assert stock.read_state() == before
    result = stock.run("upsert", **parameters, include_records=True)
    for record in (*dry_result["records"], *result["records"]):
        record.pop("_id")  # the call skips the numbers of the dry run
    assert dry_result == {**result, "dry_run": True}


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "", "x"])
def test_an_empty_text_is_null_but_in_text_and_json(table: Table, value: str | None) -> None:
    kinds = ["text", "json", "int4", "numeric", "bool", "date", "timestamp", "_text"]
    table.run("create", fields=[{"id": kind, "type": kind} for kind in kinds])
    filled = kinds[:2] if value else kinds

    table.insert(dict.fromkeys(filled, value))

    (record,) = table.read_records()
    assert record == {"_id": 1, **dict.fromkeys(kinds), **dict.fromkeys(kinds[:2], value)}


def test_megabytes_of_words_are_stored_and_found(table: Table) -> None:
    words = " ".join(f"w{number:x}" for number in range(250_000))
    table.run("create", fields=[{"id": "a", "type": "text"}])

    table.insert({"a": f"first {words}"})

    assert table.read_values("a", q="first") == [f"first {words}"]

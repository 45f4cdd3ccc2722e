"""The documented differences: their cases, our answers and the reasons."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .expectations import (
    Expectation,
    describes_our_indexes,
    fails,
    finds,
    finds_each_value,
    finds_empty_cells,
    finds_more,
    gives,
    has_fields,
    holds_records,
    holds_stock,
    holds_values,
    refuses,
    repeats_the_stock,
    shows_all_fields,
    shows_ranks_in_lists,
    succeeds,
    writes_the_same_values,
)


@dataclass(frozen=True)
class Difference:
    """
    Cases that differ from CKAN for one reason, in one way.

    ``reason`` is a row of docs/reference/ckan-compatibility.md; ``cases`` are regular expressions.
    """

    reason: str
    holds: Expectation
    cases: tuple[str, ...]

    def is_about(self, name: str) -> bool:
        return any(re.fullmatch(pattern, name) for pattern in self.cases)


def _list_differences(reason: str, *ways: tuple[Expectation, *tuple[str, ...]]) -> list[Difference]:
    return [Difference(reason, way[0], way[1:]) for way in ways]


_ALL_PLACES = range(1, 27)
_TYPED = r"filter/(?!json)\w+"

#: The fields that the cases of types make: their number, the type asked for, the type they have.
_TYPES_MADE = [
    "0 text text",
    "1 int int4",
    "2 int2 int2",
    "3 int4 int4",
    "4 int8 int8",
    "5 integer int4",
    "6 bigint int8",
    "7 smallint int2",
    "8 float float8",
    "9 float4 float8",
    "10 float8 float8",
    "11 real float8",
    "12 double precision float8",
    "13 numeric numeric",
    "14 decimal numeric",
    "15 bool bool",
    "16 boolean bool",
    "17 date date",
    "18 time time",
    "19 timestamp timestamp",
    "20 timestamptz timestamptz",
    "21 json json",
    "22 jsonb json",
    "23 varchar text",
    "26 _text _text",
    "27 text[] _text",
    "28 _int4 _int4",
    "29 int[] _int4",
    "31 _float8 _float8",
    "32 _bool _bool",
    "37 nested json",
    "38 INT int4",
]

_REQUEST = [
    *_list_differences(
        "Parameters of a wrong type",
        (refuses("limit"), r"(limit|get)/500/.*"),
        (refuses("fields"), r"fields/500/.*", r"type/number:1-create"),
        (refuses("fields"), r"create/fields as (text|an object|names):1-create"),
        (refuses("sort"), r"sort/500/.*"),
        (refuses("filters"), r"filters/500/in of a number"),
        (refuses("records"), r"create/records as an object:1-create"),
        (refuses("resource"), r"resource/text:1-create"),
    ),
    *_list_differences(
        "Empty parameters",
        (gives(distinct=None), r"distinct switch/empty text"),
        (gives(plain=None), r"plain/empty text"),
        (gives(sort=None), r"sort/empty (text|list)"),
        (gives(filters=None), r"filters/empty"),
        (gives(q=None), r"q/empty( object)?", r"operators/empty"),
        (gives(language=None), r"q with/empty language"),
        (gives(full_text=None), r"q with/empty full text"),
        (finds(1, 2, 3, total=26), r"offset/empty text"),
        (finds(*_ALL_PLACES), r"filters/empty text", r"sort/blank"),
        (finds(1, total=26), r"get/empty parameters"),
        (gives(method="upsert"), r"insert/method (null|empty):2-upsert"),
        (holds_stock("1 a", "2 b", "3 c", "4 d"), r"insert/method empty:3-search"),
    ),
    *_list_differences(
        "Several errors",
        (refuses("__extras", "limit"), r"unknown parameter/with a bad limit"),
        (refuses("fields", "filters", "limit", "offset", "records_format"), r"several faults/all"),
        (refuses("__extras", "records_format"), r"several faults/format and unknown"),
        (refuses("filters", "q"), r"several faults/filters and q"),
        (refuses("fields", "sort"), r"several faults/fields and sort"),
        (refuses("fields", "filters"), r"several faults/fields and filters"),
        (refuses("filters", "sort"), r"several faults/filters and sort"),
    ),
    *_list_differences(
        "Unknown parameters",
        (refuses("__extras"), r"(create|insert)/unknown parameter:[12]-(create|upsert)"),
        (refuses("__extras"), r"info/stock:.* unknown parameter"),
        (fails(404), r"create/unknown parameter:2-search"),
        (holds_stock("1 a", "2 b", "3 c"), r"insert/unknown parameter:3-search"),
        (gives(__extras=None), r"create/no fields and no records:1-create"),
    ),
    *_list_differences("Wording of messages", (refuses("filters"), r"filters/(number|true)")),
    *_list_differences(
        "400", (fails(400), r"body/(list|text|number|null|broken|comma.*|single quotes)")
    ),
]

_READING = [
    *_list_differences("`fields` empty", (shows_all_fields, r"fields/empty (list|text)")),
    *_list_differences(
        "A name twice in `fields`", (gives(fields=["code text"]), r"fields/twice( in a list)?")
    ),
    *_list_differences(
        "A comma in a quoted name in `fields`",
        (
            holds_records(
                *({"a, b": value} for value in ("cherry 2", "apple 2", "banana 2", None))
            ),
            r"names/fields with a comma",
        ),
    ),
    *_list_differences(
        "Errors in `sort`", (refuses("sort"), r"sort/json", r"distinct/sorted by (another|id)")
    ),
    *_list_differences(
        "`next_page`", (gives(next_page={"_id": {"gt": 3}}), r"next page/by two fields")
    ),
    *_list_differences(
        "`distinct` with `q`, with `json` fields",
        (holds_records(*({"third": value} for value in ("t0", "t1", "t2"))), r"distinct/question"),
        (finds_each_value, r"distinct types/(tags|marks|about)"),
    ),
    *_list_differences(
        "`lists` with `q`, with `distinct` and `sort`",
        (shows_ranks_in_lists, r"formats/lists question with rank"),
        (
            holds_records(*([value] for value in (None, "", "farm", "mill", "mine", "port"))),
            r"formats/lists distinct",
        ),
        (
            holds_records(*([value] for value in (None, "port", "mine", "mill", "farm", ""))),
            r"formats/lists distinct sorted",
        ),
    ),
    *_list_differences(
        "Lists in `csv` and `tsv`", (writes_the_same_values, r"formats/(csv|tsv) (places|nested)")
    ),
    *_list_differences(
        "Large and small `float8`", (writes_the_same_values, r"formats/(csv|tsv) numbers")
    ),
    *_list_differences(
        "`full_text` with `fields`",
        (finds(4, 5, 24), r"q with/full text"),
        (finds(4, 5), r"q with/full text form"),
        (finds(5), r"q with/full text and object"),
        (finds(1, 2, 24), r"q with/full text and text"),
        (finds(4), r"q with/full text and filter"),
        (finds(1, 2, 4, 5, 24), r"q with/full text operators"),
    ),
]

_Q = [
    *_list_differences(
        "Beginning of a word",
        (finds_more(19, 20), r"q/(beginning|Jon)"),
        (finds_more(4, 5, 24), r"q/(star|prefix in plain)"),
    ),
    *_list_differences(
        "Accents",
        (finds_more(6, 7), r"q/without accents"),
        (finds_more(6), r"q/some accents"),
        (finds_more(10), r"q/without umlaut"),
    ),
    *_list_differences(
        "Composed and decomposed Unicode", (finds_more(8, 9), r"q/(composed|decomposed)")
    ),
    *_list_differences(
        "Equivalent spellings",
        (finds_more(10, 11), r"q/(sharp s|two s)"),
        (finds_more(11), r"q/stop word in another language"),
    ),
    *_list_differences("A part of a run without blanks", (finds_more(13), r"q/han half")),
    *_list_differences(
        "Stop words",
        (finds_more(1, 4, 5, 16, 17, 21), r"q/stop words", r"q object/stop word"),
        (finds_more(21), r"q/only stop words"),
        (finds_more(18), r"q/brackets"),
        (finds(4, 5), r"q/stop word and word"),
    ),
    *_list_differences(
        "Words in addresses and numbers",
        (finds_more(14, 15), r"q/part of a host"),
        (finds_more(5, 14, 15, 25), r"q/hash"),
        (finds_more(3, 18, 28), r"q/negative", r"q object/json text of a number"),
    ),
    *_list_differences("Operators", (finds(), r"q/minus")),
    *_list_differences("Codes", (finds(27), r"q/code")),
    *_list_differences("`q` with `:x`", (finds(), r"q/500/colon")),
    *_list_differences(
        "`q` as a list, `full_text` as an object",
        (refuses("q"), r"q object/list of objects"),
        (refuses("full_text"), r"q with/full text object"),
    ),
    *_list_differences(
        "An unknown `language`",
        (refuses("language"), r"q with/(unknown language|number as language)"),
    ),
    *_list_differences(
        "Word forms with `language`",
        (finds_more(1), r"q with/(object and )?simple"),
        (finds_more(10, 11), r"q with/german"),
    ),
    *_list_differences(
        "A broken query with `plain: false`",
        (refuses("q"), r"operators/(two words|broken|unbalanced|object broken|only operators)"),
    ),
    *_list_differences("Weights with `plain: false`", (finds_more(1), r"operators/weight")),
]

_FILTERS = [
    *_list_differences(
        "null",
        (finds_empty_cells, r"filter/\w+ (null|eq null|null in a list)"),
        (finds(25), r"filters/null of a text"),
    ),
    *_list_differences(
        "A value that does not fit the field's type",
        (refuses("filters"), _TYPED + r" (word|empty text|true|bad operand)"),
        (refuses("filters"), r"filter/(date|timestamp|time|bool|texts|ints) (number|huge)"),
        (refuses("filters"), r"filter/(date|timestamp|time|bool|texts|ints) .*fraction"),
        (refuses("filters"), r"filter/(texts|ints) (value|as text|list)"),
        (refuses("filters"), r"filters/(values with a bad one|bad value in or)"),
        (refuses("filters"), r"filters/(operator with a list|list in a list)"),
        (refuses("filters"), r"numbers/int[24] (too great as text|fraction text|false)"),
        (refuses("filters"), r"times/.* (impossible|month|year|hour 25|number|word)"),
        (refuses("filters"), r"delete/refused:.* bad value"),
    ),
    *_list_differences(
        "Empty lists and objects",
        (refuses("filters"), r"filters/500/no operator"),
        (finds(*_ALL_PLACES), r"filters/500/empty list"),
    ),
    *_list_differences(
        "Fields of the type `json`",
        (finds(), r"filter/json (as text|empty text|word|true|number|.*fraction|huge)"),
        (finds(7, 11, 19, 23), r"filter/json (eq|in)"),
        (refuses("filters"), r"filter/json ([gl]te?|between|bad operand|list of operators)"),
    ),
    *_list_differences(
        "More operators",
        (finds(*(n for n in _ALL_PLACES if n not in {1, 12, 23})), r"filters/ne"),
        (finds(6, 7), r"filters/contains"),
        (finds(8, 9), r"filters/icontains"),
        (finds(2), r"filters/startswith"),
        (finds(9, 18), r"filters/isnull"),
    ),
    *_list_differences("Numbers of many digits", (finds(7), r"body/long number")),
]

_TABLES = [
    *_list_differences(
        "JSON text and lists of filters in writing actions",
        (succeeds, r"create/(fields|records) as json text:1-create"),
        (holds_records(), r"create/fields as json text:2-search"),
        (holds_values("x"), r"create/records as json text:2-search"),
        (succeeds, r"insert/records as json text:2-upsert"),
        (holds_stock("1 a", "2 b", "3 c", "4 d"), r"insert/records as json text:3-search"),
        (succeeds, r"(records_)?delete/filters as (json text|a list):2-.*"),
        (holds_stock("2 b", "3 c"), r"(records_)?delete/filters as json text:3-search"),
        (holds_stock("3 c"), r"(records_)?delete/filters as a list:3-search"),
    ),
    *_list_differences(
        "Other members of the result",
        (gives(aliases=["replay_three", "replay_four"]), r"alias/comma text:1-create"),
        (gives(aliases=["replay_five", "replay_six"]), r"alias/blanks in comma text:1-create"),
        (gives(primary_key=["code", "name"]), r"key/comma text:1-create"),
        (gives(primary_key=["a"]), r"upsert/list of objects for json:1-create"),
        (gives(indexes=["name", "count"]), r"key/indexes as text:1-create"),
        (gives(resource=None), r"resource/made( without fields)?:1-create"),
        (gives(method="upsert"), r"upsert/existing:.* default method"),
        (
            gives(include_records=True),
            r"(insert|update)/accepted:.* include records",
            r"insert/accepted:.* dry run with records",
        ),
        (gives(include_deleted_records=True), r"(records_)?delete/accepted:.* include records"),
    ),
    *_list_differences(
        "A new id",
        (fails(404), r"create/unknown resource:1-create"),
        (succeeds, r"create/unknown id:1-create"),
    ),
    *_list_differences(
        "`include_records` in `datastore_create`",
        (repeats_the_stock, r"create/include records:1-create"),
        (holds_stock("1 a", "2 b", "3 c"), r"create/include records:2-search"),
    ),
    *_list_differences(
        "Fields without a type",
        (
            succeeds,
            r"guess/(great int|date with slashes|true|(int|date) then text):1-create",
            r"guess/fields without types( or records)?:1-create",
            r"type/(null|empty):1-create",
        ),
        (holds_values(3_000_000_000, fields=["_id int", "a int8"]), r"guess/great int:2-search"),
        (holds_values("007", fields=["_id int", "a text"]), r"guess/int with zeros:2-search"),
        (holds_values("1e3", fields=["_id int", "a text"]), r"guess/exponent as text:2-search"),
        (holds_values("nan", fields=["_id int", "a text"]), r"guess/nan:2-search"),
        (holds_values("29/02/2024"), r"guess/date with slashes:2-search"),
        (holds_values(None, 5, fields=["_id int", "a int4"]), r"guess/null first:2-search"),
        (holds_values(True, fields=["_id int", "a bool"]), r"guess/true:2-search"),
        (holds_values("5", "x"), r"guess/int then text:2-search"),
        (holds_values(5, 1.5, fields=["_id int", "a float8"]), r"guess/int then fraction:2-search"),
        (holds_values("2024-02-29", "soon"), r"guess/date then text:2-search"),
        (holds_records({"_id": 1, "a": 5, "b": None}), r"guess/fields without types:2-search"),
        (holds_records(), r"(type/(null|empty)|guess/fields without types or records):2-search"),
    ),
    *_list_differences(
        "Field names",
        (succeeds, r"name/all:.*-create (underscore|quote)", r"name/64 letters:1-create"),
        (refuses("fields"), r"name/all:.*-create number", r"name/empty in a record:1-create"),
        (refuses("fields"), r"create/record with an (id|internal field):1-create"),
        (holds_records(), r"name/64 letters:2-search"),
        (holds_values(1, fields=["_id int", "_a int4"]), r"name/in a record:2-search"),
        (
            has_fields(
                *("_a text", 'a"b text', f"{'a' * 63} text", f"{'đ' * 31}a text", "100% text"),
                *("it's text", "Tên tỉnh text", "a_b text", "rank text", "$a text"),
                total=10,
            ),
            r"name/all:19-search",
        ),
    ),
    *_list_differences("Errors in a field", (refuses("fields"), r"name/twice:1-create")),
    *_list_differences(
        "Types",
        (refuses("fields"), r"type/all:.* (char|uuid|_numeric|_date|money|interval|bytea)"),
        (has_fields(*_TYPES_MADE, total=0), r"type/all:41-search"),
    ),
    *_list_differences(
        "Errors in aliases and indexes",
        (
            refuses("aliases"),
            r"alias/(taken by another|name of a resource|own id|quote|underscore|empty):1-create",
        ),
        (refuses("primary_key"), r"key/(unknown|id):1-create"),
        (refuses("indexes"), r"key/unknown index:1-create"),
    ),
    *_list_differences(
        "Aliases in writing actions",
        (succeeds, r"alias/(write|delete) by alias:2-.*"),
        (holds_values("x"), r"alias/write by alias:3-search"),
        (holds_records(), r"alias/delete by alias:3-search"),
    ),
    *_list_differences(
        "`datastore_info`",
        (
            describes_our_indexes,
            r"info/stock:.* (resource_id|id|alias|without meta|anonymous|after writes)",
            r"info/(places|numbers|empty):1-info",
            r"(create/data dictionary|alias/list):.*-info",
            r"records_delete/accepted:.* info",
        ),
    ),
]

_RECORDS = [
    *_list_differences(
        "Message of a wrong record",
        (
            refuses("records", "records_row"),
            r"(create/later record with an unknown field|guess/other fields later):1-create",
            r"insert/refused:.* (bad value and field|unknown field( second)?|(own|existing) id)",
            r"key/records not unique:1-create",
        ),
        (
            refuses("key", "records_row"),
            r"(update|upsert)/refused:.* (unknown|missing) key( second)?",
            r"update/refused:.* by (unknown|bad) id",
            r"upsert/without a key:.* by null id",
        ),
        (refuses("fields", "records_row"), r"(update|upsert)/refused:.* unknown field"),
    ),
    *_list_differences(
        "`_id` of a changed record",
        (holds_stock("1 a", "2 b", "3 c", "4 a"), r"key/two fields:3-search"),
        (holds_stock("1 a", "2 b", "3 None"), r"upsert/numeric key:3-search"),
        (
            holds_stock("1 a", "2 b", "3 c", "4 d"),
            r"insert/after a failure:4-search",
            r"upsert/(both|include records):3-search",
            r"upsert/then insert:4-search",
        ),
        (
            gives(
                include_records=True,
                records=[
                    {"_id": 1, "code": "a", "name": "new", "count": 1, "amount": 1.5},
                    {"_id": 4, "code": "d", "name": None, "count": None, "amount": None},
                ],
            ),
            r"upsert/include records:2-upsert",
        ),
    ),
    *_list_differences(
        "Lists in a `text` field",
        (succeeds, r'value/text:10-upsert \[1, "a"\]', r'value/text:11-upsert \{"k": "v"\}'),
        (
            holds_values(
                *("x", "", " x ", "5", "1.5", "1000.0", "true", None, '[1,"a"]', '{"k":"v"}'),
                *("a\u0301", "🙂"),
            ),
            r"value/text:14-search",
        ),
    ),
    *_list_differences(
        "Fractions for whole numbers",
        (refuses("records", "records_row"), r"value/int4:9-upsert 5\.5"),
        (refuses("records", "records_row"), r"value/_int4:7-upsert \[1\.5\]"),
        (holds_values(5, 5, 5, 5, None, 5), r"value/int4:16-search"),
    ),
    *_list_differences(
        "Texts in a list of numbers",
        (succeeds, r'value/_int4:6-upsert \["1", "2"\]'),
        (holds_values([1, 2], [], [1, None], [1, 2], [1, 2], None), r"value/_int4:11-search"),
    ),
    *_list_differences(
        "Lists within lists",
        (refuses("records", "records_row"), r'value/_text:9-upsert \[\["a"\], \["b"\]\]'),
        (
            holds_values(["a", "b"], [], ["a", None], ["a", "b"], None, ["1", "2"], ["a"]),
            r"value/_text:11-search",
        ),
    ),
    *_list_differences("The JSON text of a list", (succeeds, r"value/_text:10-upsert .*")),
    *_list_differences(
        "A key of another record", (refuses("records"), r"update/refused:7-upsert key of another")
    ),
    *_list_differences(
        "Dates with the day or the month first",
        (refuses("records", "records_row"), r'value/date:6-upsert "02/03/2024"'),
        (holds_values(*["2024-02-29"] * 4, None, "infinity"), r"value/date:13-search"),
    ),
    *_list_differences(
        "`timestamp`",
        (
            holds_values(
                *["2024-02-29T10:00:00.000"] * 2,
                "2024-02-29T00:00:00.000",
                *["2024-02-29T10:00:00.000"] * 2,
                "2024-02-29T10:00:00.123456",
                *(None, "2024-02-29T10:00:00.500", "infinity"),
            ),
            r"value/timestamp:14-search",
        ),
    ),
    *_list_differences(
        "`filters: null` in `datastore_delete`",
        (refuses("filters"), r"delete/null filters:2-delete"),
        (holds_stock("1 a", "2 b", "3 c"), r"delete/null filters:3-search"),
    ),
]

DIFFERENCES: tuple[Difference, ...] = (*_REQUEST, *_READING, *_Q, *_FILTERS, *_TABLES, *_RECORDS)

"""Making tables: fields, types given and guessed, names, aliases, keys, and their description."""

from __future__ import annotations

from typing import Any

from .step import (
    INFO,
    OWN,
    STOCK_FIELDS,
    TABLE,
    Step,
    build_steps,
    build_text_fields,
    create,
    delete,
    insert,
    search,
    stock,
    upsert,
)

_CREATE: dict[str, list[Step]] = {
    "fields and records": [stock()],
    "fields only": [create(fields=STOCK_FIELDS)],
    "nothing": [create()],
    "no fields and no records": [create(fields=[], records=[])],
    "twice the same": [stock(primary_key=[]), stock(primary_key=[])],
    "twice with a key": [stock(), stock()],
    "again with a new key": [stock(), create(fields=STOCK_FIELDS, primary_key=["name"])],
    "again without a key": [stock(), create(fields=STOCK_FIELDS), insert({"code": "a"})],
    "again with an empty key": [
        stock(),
        create(fields=STOCK_FIELDS, primary_key=[]),
        insert({"code": "a"}),
    ],
    "append records": [TABLE, create(records=[{"a": 1, "b": "x"}, {"a": 2}])],
    "append and name the fields": [
        TABLE,
        create(fields=[{"id": "a"}, {"id": "b"}], records=[{"a": 1}]),
    ],
    "add a field": [
        TABLE,
        insert({"a": 1, "b": "x"}),
        create(fields=[{"id": "a"}, {"id": "b"}, {"id": "c", "type": "float8"}]),
        insert({"a": 2, "c": 2.5}),
    ],
    "add a field first": [
        TABLE,
        create(fields=[{"id": "c", "type": "text"}, {"id": "a"}, {"id": "b"}]),
    ],
    "add only a new field": [TABLE, create(fields=[{"id": "c", "type": "text"}])],
    "add a field by records": [TABLE, create(records=[{"a": 1, "c": 5}])],
    "add a field with records": [
        TABLE,
        create(fields=[{"id": "a"}, {"id": "b"}, {"id": "c"}], records=[{"c": 5}]),
    ],
    "change a type": [
        TABLE,
        insert({"a": 1}),
        create(fields=[{"id": "a", "type": "text"}, {"id": "b", "type": "text"}]),
    ],
    "fewer fields": [TABLE, create(fields=[{"id": "a"}])],
    "delete a field": [
        TABLE,
        insert({"a": 1, "b": "x"}),
        create(fields=[{"id": "a", "type": "int4"}], delete_fields=True),
    ],
    "fields in another order": [TABLE, create(fields=[{"id": "b"}, {"id": "a"}])],
    "data dictionary": [
        create(fields=[{"id": "a", "type": "int4", "info": {"label": "A", "notes": "Of a"}}]),
        INFO,
    ],
    "include records": [stock(include_records=True)],
    "count records": [stock(calculate_record_count=True), insert({"code": "d"})],
    "return no more than sent": [create(fields=build_text_fields("a"), aliases=["replay_sent"])],
    "missing resource": [("create", {"fields": STOCK_FIELDS})],
    "unknown resource": [("create", {"resource_id": "nope", "fields": STOCK_FIELDS})],
    "unknown id": [
        ("create", {"resource_id": "00000000-0000-4000-8000-000000000000", "fields": []})
    ],
    "anonymous": [("create anonymous", {**OWN, "fields": STOCK_FIELDS})],
    "unknown parameter": [create(fields=STOCK_FIELDS, nope=1)],
    "fields as text": [create(fields="a,b")],
    "fields as json text": [create(fields='[{"id": "a", "type": "text"}]')],
    "fields as an object": [create(fields={"a": "text"})],
    "fields as names": [create(fields=["a", "b"])],
    "records as an object": [create(fields=build_text_fields("a"), records={"a": 1})],
    "records as text": [create(fields=build_text_fields("a"), records="a")],
    "records as json text": [create(fields=build_text_fields("a"), records='[{"a": "x"}]')],
    "records of lists": [create(fields=build_text_fields("a"), records=[["x"]])],
    "records of texts": [create(fields=build_text_fields("a"), records=["x"])],
    "record with an unknown field": [
        create(fields=build_text_fields("a"), records=[{"a": 1, "z": 2}])
    ],
    "later record with an unknown field": [
        create(fields=build_text_fields("a"), records=[{"a": 1}, {"z": 2}])
    ],
    "records with missing fields": [
        create(fields=build_text_fields("a", "b"), records=[{"b": "x"}, {"a": "y"}, {}])
    ],
    "one bad record": [
        create(fields=build_text_fields("a", type="int4"), records=[{"a": 1}, {"a": "x"}])
    ],
    "record with an id": [create(fields=build_text_fields("a"), records=[{"_id": 7, "a": "x"}])],
    "record with an internal field": [
        create(fields=build_text_fields("a"), records=[{"_full_text": "x", "a": "x"}])
    ],
}

_MADE = {"package_id": "@dataset", "name": "made"}

_RESOURCE: dict[str, list[Step]] = {
    "made": [
        ("create", {"resource": _MADE, "fields": build_text_fields("a"), "records": [{"a": "x"}]}),
        search(resource_id="@made"),
    ],
    "made without fields": [("create", {"resource": _MADE}), search(resource_id="@made")],
    "made and named": [("create", {**OWN, "resource": _MADE, "fields": build_text_fields("a")})],
    "empty": [("create", {"resource": {}, "fields": build_text_fields("a")})],
    "text": [("create", {"resource": "made", "fields": build_text_fields("a")})],
    "unknown dataset": [
        ("create", {"resource": {"package_id": "nope"}, "fields": build_text_fields("a")})
    ],
    "anonymous": [("create anonymous", {"resource": _MADE, "fields": build_text_fields("a")})],
}

_GUESSES: dict[str, list[Any]] = {
    "int": [5],
    "negative int": [-5],
    "great int": [3_000_000_000],
    "fraction": [1.5],
    "text": ["x"],
    "int as text": ["5"],
    "int with zeros": ["007"],
    "fraction as text": ["1.50"],
    "exponent as text": ["1e3"],
    "date": ["2024-02-29"],
    "date with slashes": ["29/02/2024"],
    "date and time": ["2024-02-29 12:30:00"],
    "iso timestamp": ["2024-02-29T12:30:00"],
    "empty text": [""],
    "null": [None],
    "null first": [None, 5],
    "object": [{"k": 1}],
    "list": [[1, 2]],
    "true": [True],
    "text true": ["true"],
    "int then text": [5, "x"],
    "int then fraction": [5, 1.5],
    "text then int": ["x", 5],
    "date then text": ["2024-02-29", "soon"],
    "blank": [" "],
    "nan": ["nan"],
}

_GUESS: dict[str, list[Step]] = {
    **{
        label: [create(records=[{"a": value} for value in values])]
        for label, values in _GUESSES.items()
    },
    "several fields": [create(records=[{"n": 1, "t": "x", "f": 0.5, "d": "2020-01-01", "j": {}}])],
    "other fields later": [create(records=[{"a": 1}, {"a": 2, "b": "x"}])],
    "fields without types": [create(fields=[{"id": "a"}, {"id": "b"}], records=[{"a": 5}])],
    "fields without types or records": [create(fields=[{"id": "a"}, {"id": "b"}])],
}

_NAMES: dict[str, Any] = {
    "empty": "",
    "blank before": " a",
    "blank after": "a ",
    "underscore": "_a",
    "id": "_id",
    "quote": 'a"b',
    "tab": "a\tb",
    "line break": "a\nb",
    "63 letters": "a" * 63,
    "63 bytes": "đ" * 31 + "a",
    "number": 5,
    "null": None,
    "percent": "100%",
    "single quote": "it's",
    "unicode": "Tên tỉnh",
    "inner underscore": "a_b",
    "rank": "rank",
    "dollar": "$a",
}

_NAMED: dict[str, list[Step]] = {
    "all": [
        (
            f"create {label}",
            {**OWN, "fields": [{"id": name, "type": "text"}], "records": [{str(name): "x"}]},
        )
        for label, name in _NAMES.items()
    ],
    "64 letters": [create(fields=build_text_fields("a" * 64))],
    "twice": [create(fields=build_text_fields("a", "a"))],
    "twice in other case": [
        create(fields=build_text_fields("a", "A"), records=[{"a": "x", "A": "y"}])
    ],
    "missing": [create(fields=[{"type": "text"}])],
    "in a record": [create(records=[{"_a": 1}])],
    "empty in a record": [create(records=[{"": 1}])],
}

_TYPE_NAMES = (
    "text,int,int2,int4,int8,integer,bigint,smallint,float,float4,float8,real,double precision"
    ",numeric,decimal,bool,boolean,date,time,timestamp,timestamptz,json,jsonb,varchar,char,uuid"
    ",_text,text[],_int4,int[],_numeric,_float8,_bool,_date,money,interval,bytea,nested,INT,nope"
)

_TYPED: dict[str, list[Step]] = {
    "all": [
        (f"create {name}", {**OWN, "fields": [{"id": f"{number} {name}", "type": name}]})
        for number, name in enumerate(_TYPE_NAMES.split(","))
    ],
    "number": [create(fields=[{"id": "a", "type": 5}])],
    "null": [create(fields=[{"id": "a", "type": None}])],
    "empty": [create(fields=[{"id": "a", "type": ""}])],
    "injection": [create(fields=[{"id": "a", "type": "text, b text"}])],
}

_ALIAS: dict[str, list[Step]] = {
    "list": [
        create(fields=build_text_fields("a"), aliases=["replay_one", "replay_two"]),
        search(resource_id="replay_two"),
        INFO,
    ],
    "comma text": [
        create(fields=build_text_fields("a"), aliases="replay_three,replay_four"),
        search(resource_id="replay_four"),
    ],
    "blanks in comma text": [
        create(fields=build_text_fields("a"), aliases="replay_five, replay_six"),
        search(resource_id="replay_six"),
    ],
    "replaced": [
        create(fields=build_text_fields("a"), aliases=["replay_old"]),
        create(fields=build_text_fields("a"), aliases=["replay_new"]),
        search(resource_id="replay_new"),
        search(resource_id="replay_old"),
    ],
    "kept": [
        create(fields=build_text_fields("a"), aliases=["replay_kept"]),
        create(records=[{"a": "x"}]),
        search(resource_id="replay_kept"),
    ],
    "taken away": [
        create(fields=build_text_fields("a"), aliases=["replay_away"]),
        create(fields=build_text_fields("a"), aliases=[]),
        search(resource_id="replay_away"),
    ],
    "the same again": [
        create(fields=build_text_fields("a"), aliases=["replay_again"]),
        create(fields=build_text_fields("a"), aliases=["replay_again"]),
        search(resource_id="replay_again"),
    ],
    "taken by another": [create(fields=build_text_fields("a"), aliases=["replay_places"])],
    "name of a resource": [create(fields=build_text_fields("a"), aliases=["@places"])],
    "own id": [create(fields=build_text_fields("a"), aliases=["@own"])],
    "quote": [create(fields=build_text_fields("a"), aliases=['a"b'])],
    "underscore": [create(fields=build_text_fields("a"), aliases=["_replay"])],
    "long": [create(fields=build_text_fields("a"), aliases=["replay" * 12])],
    "empty": [create(fields=build_text_fields("a"), aliases=[""])],
    "number": [create(fields=build_text_fields("a"), aliases=[5])],
    "object": [create(fields=build_text_fields("a"), aliases={"x": 1})],
    "write by alias": [
        create(fields=build_text_fields("a"), aliases=["replay_write"]),
        insert({"a": "x"}, resource_id="replay_write"),
    ],
    "delete by alias": [
        create(fields=build_text_fields("a"), records=[{"a": "x"}], aliases=["replay_delete"]),
        delete(resource_id="replay_delete", filters={"a": "x"}),
    ],
    "gone with the table": [
        create(fields=build_text_fields("a"), aliases=["replay_gone"]),
        delete(),
        search(resource_id="replay_gone"),
    ],
}

_KEY: dict[str, list[Step]] = {
    "comma text": [stock(primary_key="code,name"), upsert({"code": "a", "name": "apple"})],
    "unknown": [stock(primary_key=["nope"])],
    "records not unique": [stock(records=[{"code": "a"}, {"code": "a"}])],
    "two fields": [
        stock(primary_key=["code", "count"]),
        upsert({"code": "a", "count": 1, "name": "new"}, {"code": "a", "count": 2}),
    ],
    "null key": [
        stock(records=[]),
        insert({"code": None, "name": "x"}, {"code": None, "name": "y"}),
        upsert({"code": None, "name": "z"}),
    ],
    "indexes": [stock(indexes=["name", "count"])],
    "indexes as text": [stock(indexes="name,count")],
    "unknown index": [stock(indexes=["nope"])],
    "number": [stock(primary_key=5)],
    "id": [stock(primary_key=["_id"])],
}

_INFORMED: dict[str, list[Step]] = {
    "stock": build_steps(
        stock(aliases=["replay_info"]),
        {
            "resource_id": INFO,
            "id": ("info", {"id": "@own"}),
            "alias": ("info", {"id": "replay_info"}),
            "without meta": ("info", {**OWN, "include_meta": False}),
            "without schema": ("info", {**OWN, "include_fields_schema": False}),
            "unknown parameter": ("info", {**OWN, "nope": 1}),
            "anonymous": ("info", dict(OWN)),
            "insert": insert({"code": "d"}, {"code": "e"}),
            "delete": delete(filters={"code": "a"}),
            "after writes": INFO,
        },
    ),
    "places": [("info", {"resource_id": "@places"})],
    "numbers": [("info", {"resource_id": "@numbers"})],
    "empty": [("info", {"resource_id": "@empty"})],
    "unknown": [("info", {"resource_id": "nope"})],
    "without a table": [INFO],
    "missing": [("info", {})],
}

GROUPS: dict[str, dict[str, list[Step]]] = {
    "create": _CREATE,
    "resource": _RESOURCE,
    "guess": _GUESS,
    "name": _NAMED,
    "type": _TYPED,
    "alias": _ALIAS,
    "key": _KEY,
    "info": _INFORMED,
}

"""Writing and deleting records."""

from __future__ import annotations

from .step import (
    INFO,
    KEYLESS,
    OWN,
    STOCK_RECORDS,
    Step,
    build_steps,
    create,
    delete,
    insert,
    records_delete,
    search,
    stock,
    update,
    upsert,
)

_INSERT: dict[str, list[Step]] = {
    "accepted": build_steps(
        stock(),
        {
            "one": insert({"code": "d", "name": "date", "count": 4, "amount": 4}),
            "two": insert({"code": "e"}, {"code": "f"}),
            "none": insert(),
            "missing fields": insert({"code": "g"}),
            "include records": insert({"code": "h", "count": "4"}, include_records=True),
            "dry run": insert({"code": "i"}, dry_run=True),
            "counted": search(limit=0),
            "dry run with records": insert({"code": "i"}, dry_run=True, include_records=True),
            "after dry runs": insert({"code": "j"}),
            "count wanted": insert({"code": "k"}, calculate_record_count=True),
            "forced": insert({"code": "l"}, force=True),
            "records null": insert(records=None),
            "records missing": ("upsert", {**OWN, "method": "insert"}),
            "found by q": insert({"code": "m", "name": "walnut"}),
            "search": search(q="walnut"),
            "counted again": search(limit=0),
        },
    ),
    "refused": build_steps(
        stock(),
        {
            "dry run of a bad record": insert({"count": "x"}, dry_run=True),
            "bad value": insert({"code": "d", "count": "many"}),
            "bad value second": insert({"code": "d"}, {"code": "e", "count": "many"}),
            "bad value and field": insert({"code": "d", "count": "many", "nope": 1}),
            "unknown field": insert({"code": "d", "nope": 1}),
            "unknown field second": insert({"code": "d"}, {"code": "e", "nope": 1}),
            "own id": insert({"_id": 50, "code": "d"}),
            "existing id": insert({"_id": 1, "code": "d"}),
            "record as a list": insert(["d"]),
            "record as text": insert("d"),
            "record as null": insert(None),
            "records as an object": insert(records={"code": "d"}),
            "unknown method": upsert({"code": "d"}, method="replace"),
            "method in capitals": upsert({"code": "d"}, method="INSERT"),
            "anonymous": ("upsert", {**OWN, "records": [], "method": "insert"}),
            "existing key": insert({"code": "a"}),
            "same key twice": insert({"code": "d"}, {"code": "d"}),
        },
    ),
    "after a failure": [stock(), insert({"code": "a"}), insert({"code": "d"})],
    "empty record": [KEYLESS, insert({})],
    "without a key": [KEYLESS, insert({"code": "a", "name": "another"})],
    "records as json text": [stock(), insert(records='[{"code": "d"}]')],
    "unknown parameter": [stock(), insert({"code": "d"}, nope=1)],
    "missing resource": [("upsert", {"records": [{"a": 1}], "method": "insert"})],
    "unknown resource": [insert({"a": 1}, resource_id="nope")],
    "resource without a table": [insert({"a": 1})],
    "method null": [stock(), ("upsert", {**OWN, "records": [{"code": "d"}], "method": None})],
    "method empty": [stock(), upsert({"code": "d"}, method="")],
}

_UPDATE: dict[str, list[Step]] = {
    "accepted": build_steps(
        stock(),
        {
            "one field": update({"code": "a", "name": "new"}),
            "to null": update({"code": "b", "name": None}),
            "two records": update({"code": "a", "count": 9}, {"code": "b", "count": 8}),
            "same record twice": update({"code": "c", "count": 9}, {"code": "c", "count": 7}),
            "only the key": update({"code": "a"}),
            "by id": update({"_id": 2, "name": "newer"}),
            "by id as text": update({"_id": "3", "name": "newest"}),
            "include records": update({"code": "a", "amount": 5}, include_records=True),
            "dry run": update({"code": "a", "name": "never"}, dry_run=True),
            "no records": update(),
            "words": update({"code": "a", "name": "quince"}),
            "new words": search(q="quince"),
            "old words": search(q="apple"),
        },
    ),
    "refused": build_steps(
        stock(),
        {
            "unknown key": update({"code": "z", "name": "new"}),
            "unknown key second": update({"code": "a", "name": "new"}, {"code": "z"}),
            "missing key": update({"name": "new"}),
            "by unknown id": update({"_id": 99, "name": "new"}),
            "by bad id": update({"_id": "x", "name": "new"}),
            "key of another": update({"_id": 2, "code": "a"}),
            "bad value": update({"code": "a", "count": "many"}),
            "unknown field": update({"code": "a", "nope": 1}),
        },
    ),
    "by id and a new key": [stock(), update({"_id": 2, "code": "z", "name": "new"})],
    "by id without a key": [KEYLESS, update({"_id": 2, "name": "new"})],
    "without a key or id": [KEYLESS, update({"code": "a", "name": "new"})],
}

_UPSERT: dict[str, list[Step]] = {
    "new": [stock(), upsert({"code": "d", "name": "date"})],
    "existing": build_steps(
        stock(),
        {
            "existing": upsert({"code": "a", "name": "new"}),
            "default method": upsert({"code": "b", "name": "new"}, method=None),
            "leaves other fields": upsert({"code": "a", "count": 9}),
            "only the key": upsert({"code": "a"}),
            "by id": upsert({"_id": 2, "code": "b", "name": "newer"}),
            "by id and missing key": upsert({"_id": 3, "name": "newest"}),
            "no records": upsert(),
            "dry run": upsert({"code": "a", "name": "never"}, {"code": "d"}, dry_run=True),
        },
    ),
    "refused": build_steps(
        stock(),
        {
            "missing key": upsert({"name": "new"}),
            "missing key second": upsert({"code": "d"}, {"name": "new"}),
            "bad value": upsert({"code": "a", "count": "many"}),
            "good and bad": upsert({"code": "d"}, {"code": "a", "count": "many"}),
            "unknown field": upsert({"code": "a", "nope": 1}),
        },
    ),
    "both": [stock(), upsert({"code": "a", "name": "new"}, {"code": "d"})],
    "same new key twice": [stock(), upsert({"code": "d", "count": 1}, {"code": "d", "count": 2})],
    "without a key": build_steps(
        KEYLESS,
        {
            "by a field": upsert({"code": "a", "name": "new"}),
            "by id": upsert({"_id": 2, "name": "new"}),
            "by null id": upsert({"_id": None, "name": "new"}),
        },
    ),
    "by new id": [KEYLESS, upsert({"_id": 50, "name": "new"})],
    "key of another type": [stock(), upsert({"code": 5, "name": "new"})],
    "include records": [
        stock(),
        upsert({"code": "a", "name": "new"}, {"code": "d"}, include_records=True),
    ],
    "then insert": [stock(), upsert({"code": "a", "name": "new"}), insert({"code": "d"})],
    "numeric key": [
        stock(primary_key=["count"], records=STOCK_RECORDS[:2]),
        upsert({"count": "1", "name": "new"}, {"count": 3}),
    ],
    "list of objects for json": [
        create(fields=[{"id": "a", "type": "int4"}, {"id": "j", "type": "json"}], primary_key="a"),
        upsert({"a": 1, "j": {"k": [1, {"x": None}]}}, {"a": 2, "j": "text"}, {"a": 3, "j": []}),
    ],
}

_MANY_RECORDS = [{"code": letter, "count": n} for n, letter in enumerate("abcdefghijklmnop", 1)]

_DELETE: dict[str, list[Step]] = {
    "accepted": build_steps(
        stock(records=_MANY_RECORDS),
        {
            "one": delete(filters={"code": "a"}),
            "counted": search(limit=0),
            "several": delete(filters={"code": ["b", "c"]}),
            "by id": delete(filters={"_id": 4}),
            "by two fields": delete(filters={"code": "e", "count": 5}),
            "by contradicting fields": delete(filters={"code": "f", "count": 5}),
            "by operators": delete(filters={"count": {"gte": 15}}),
            "by or": delete(filters={"$or": [{"code": "g"}, {"count": 8}]}),
            "nothing found": delete(filters={"code": "z"}),
            "empty list": delete(filters={"code": []}),
            "include records": delete(filters={"code": "i"}, include_deleted_records=True),
            "count wanted": delete(filters={"code": "j"}, calculate_record_count=True),
            "as id": ("delete", {"id": "@own", "filters": {"code": "k"}}),
            "key free again": insert({"code": "a"}),
            "counted again": search(limit=0),
        },
    ),
    "refused": build_steps(
        stock(),
        {
            "filters as a word": delete(filters="a"),
            "unknown field": delete(filters={"nope": 1}),
            "bad value": delete(filters={"count": "many"}),
            "unknown parameter": delete(filters={"code": "a"}, nope=1),
            "anonymous": ("delete", {**OWN, "filters": {}}),
        },
    ),
    "empty filters": [stock(), delete(filters={})],
    "null filters": [stock(), delete(filters=None)],
    "filters as json text": [stock(), delete(filters='{"code": "a"}')],
    "filters as a list": [stock(), delete(filters=[{"code": "a"}, {"code": "b"}])],
    "then insert": [stock(), delete(filters={"code": "c"}), insert({"code": "d"})],
    "all and again": [stock(), delete(), delete()],
    "all and made again": [stock(), delete(), stock()],
    "missing resource": [("delete", {"filters": {}})],
    "unknown resource": [delete(resource_id="nope", filters={})],
}

_RECORDS_DELETE: dict[str, list[Step]] = {
    "accepted": build_steps(
        stock(records=_MANY_RECORDS),
        {
            "one": records_delete(filters={"code": "a"}),
            "by operators": records_delete(filters={"count": {"lt": 3}}),
            "include records": records_delete(
                filters={"code": ["c", "d"]}, include_deleted_records=True
            ),
            "all": records_delete(filters={}),
            "counted": search(limit=0),
            "info": INFO,
            "insert": insert({"code": "a"}),
        },
    ),
    "refused": build_steps(
        stock(),
        {
            "missing filters": records_delete(),
            "null filters": records_delete(filters=None),
            "unknown field": records_delete(filters={"nope": 1}),
            "anonymous": ("records_delete", {**OWN, "filters": {}}),
        },
    ),
    "filters as json text": [stock(), records_delete(filters='{"code": "a"}')],
    "filters as a list": [stock(), records_delete(filters=[{"code": "a"}, {"code": "b"}])],
    "unknown resource": [records_delete(resource_id="nope", filters={})],
    "resource without a table": [records_delete(filters={})],
}

GROUPS: dict[str, dict[str, list[Step]]] = {
    "insert": _INSERT,
    "update": _UPDATE,
    "upsert": _UPSERT,
    "delete": _DELETE,
    "records_delete": _RECORDS_DELETE,
}

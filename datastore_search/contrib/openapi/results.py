"""The results of the actions in JSON Schema."""

from __future__ import annotations

from django.apps import apps

from ...api.parameter_types import ParameterField
from ...api.parameters import (
    ActionParameters,
    CreateParameters,
    DeleteParameters,
    SearchParameters,
    UpsertParameters,
)
from ...downloads.formats import GZIP_TYPE, formats
from ...field_types import field_types
from ...search import RecordsFormat
from ...writing import Method
from .components import (
    ANY_VALUE,
    BOOLEAN,
    NON_NEGATIVE_INTEGER,
    OBJECT,
    TEXT,
    Schema,
    enum_of,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from .examples import Example, show_examples
from .parameters import build_schema

_ID: Schema = {"type": "integer", "minimum": 1}
RESOURCE_ID: Schema = {"type": "string", "description": "The resource's id, whatever was asked."}
_BINARY: Schema = {"type": "string", "format": "binary"}
ROW = list_of(ANY_VALUE, description="The values of a record, in the order of `fields`.")
_RECORDS = list_of(schema_ref("DatastoreRecord"))

#: The schema of each action's result.
_RESULTS: dict[str, Schema] = {
    "datastore_search": schema_ref("DatastorePage"),
    "datastore_facets": schema_ref("DatastoreFacets"),
    "datastore_aggregate": schema_ref("DatastoreAggregate"),
    "datastore_suggest": schema_ref("DatastoreSuggestions"),
    "datastore_info": schema_ref("DatastoreInfo"),
    "datastore_create": schema_ref("DatastoreCreated"),
    "datastore_upsert": schema_ref("DatastoreWritten"),
    "datastore_delete": schema_ref("DatastoreDeleted"),
    "datastore_records_delete": schema_ref("DatastoreDeleted"),
    # The other actions of the catalogue answer with objects of CKAN's members.
    "package_list": list_of(TEXT),
    "site_read": BOOLEAN,
    "help_show": {"type": "string", "description": "What the action does."},
    "status_show": schema_ref("DatastoreStatus"),
}


def build_answer(action: str) -> Schema:
    """Describe the envelope of an action's result."""
    result = _RESULTS.get(action, ANY_VALUE)
    return object_of({"help": HELP, "success": build_success(is_one=True), "result": result})


HELP: Schema = {
    "type": "string",
    "format": "uri",
    "description": "Where the action is described.",
}


def build_success(*, is_one: bool) -> Schema:
    """Describe the member that distinguishes results from failures."""
    # Not a constant: generators of clients mistake it for the text "true".
    return {**BOOLEAN, "description": f"Always {str(is_one).lower()}."}


def build_dump(example: Example) -> Schema:
    """Describe the file of a dump."""
    table = object_of({"fields": list_of(schema_ref("DatastoreField")), "records": list_of(ROW)})
    texts: dict[str, Schema] = {
        kind.content_type.partition(";")[0]: {
            "schema": table if name == "json" else TEXT if kind.is_text else _BINARY
        }
        for name, kind in formats.items()
    }
    texts[GZIP_TYPE] = {"schema": _BINARY}
    texts["text/csv"].update(show_examples([example], lambda each: each.answer))
    return {
        "description": "The file. CSV and TSV have a header.",
        "headers": {"Content-Disposition": {"schema": TEXT, "description": "The file's name."}},
        "content": texts,
    }


def build_schemas() -> dict[str, Schema]:
    """Build the named schemas of the results."""
    return {
        "DatastoreField": _build_field(),
        "DatastoreFieldType": {
            **TEXT,
            "description": "A type of PostgreSQL; `_id` has `int`, ranks have `float`.",
            # Not an enumeration: generators of clients take `int4` and `_int4` for the same name.
            "examples": [*field_types, "int", "float"],
        },
        "DatastoreFieldInfo": {
            "type": "object",
            "description": "The entry of the data dictionary. `label` and `notes` are those for the"
            " language of the path; the translations are members such as `label_fr`. `unit` is what"
            " the numbers of the field count, and `weight` what its words count in the order of"
            " results.",
            "properties": {"label": TEXT, "notes": TEXT, "unit": ANY_VALUE, "weight": ANY_VALUE},
            "additionalProperties": ANY_VALUE,
        },
        "DatastoreRecord": {
            "type": "object",
            "description": "Field → value, in the order of `fields`; empty cells are null. Numbers"
            " have all their digits.",
            "properties": {"_id": _ID},
            "additionalProperties": ANY_VALUE,
        },
        **_build_pages(),
        "DatastoreLinks": object_of({"start": TEXT, "next": TEXT}, optional={"prev": TEXT}),
        **_build_analysis(),
        "DatastoreInfo": _build_info(),
        "DatastoreCreated": object_of(
            {
                "resource_id": RESOURCE_ID,
                "fields": list_of(schema_ref("DatastoreField")),
                "method": enum_of(Method.INSERT.value),
            },
            optional=repeat(CreateParameters, records=_RECORDS),
        ),
        "DatastoreWritten": object_of(
            {"resource_id": RESOURCE_ID, "method": schema_ref("DatastoreMethod")},
            optional=repeat(UpsertParameters, records=_RECORDS),
        ),
        "DatastoreDeleted": object_of(
            {"resource_id": RESOURCE_ID},
            optional=repeat(DeleteParameters, deleted_records=_RECORDS),
        ),
        "DatastoreStatus": _build_status(),
    }


def _build_analysis() -> dict[str, Schema]:
    if not apps.is_installed("datastore_search.contrib.analysis"):
        return {}
    from .analysis import build_schemas as build  # noqa: PLC0415 - only where it is installed

    return build()


def _build_field(**members: Schema) -> Schema:
    return object_of(
        {"id": TEXT, "type": schema_ref("DatastoreFieldType")},
        optional={"info": schema_ref("DatastoreFieldInfo"), **members},
    )


# datastore_search ---------------------------------------------------------------------------------

_OBJECTS, _LISTS, _TEXTS = "DatastorePageOfObjects", "DatastorePageOfLists", "DatastorePageOfText"

_NAMES = {
    RecordsFormat.OBJECTS: _OBJECTS,
    RecordsFormat.LISTS: _LISTS,
    RecordsFormat.CSV: _TEXTS,
    RecordsFormat.TSV: _TEXTS,
}


def _build_pages() -> dict[str, Schema]:
    rows = {**TEXT, "description": "Rows that end in a line break, without a header."}
    return {
        "DatastorePage": {
            **one_of(schema_ref(_OBJECTS), schema_ref(_LISTS), schema_ref(_TEXTS)),
            "discriminator": {
                "propertyName": "records_format",
                "mapping": {form.value: schema_ref(name)["$ref"] for form, name in _NAMES.items()},
            },
        },
        _OBJECTS: _build_page(_OBJECTS, _RECORDS),
        _LISTS: _build_page(_LISTS, list_of(ROW)),
        _TEXTS: _build_page(_TEXTS, rows),
    }


def _build_page(name: str, records: Schema) -> Schema:
    values = [form.value for form, page in _NAMES.items() if page == name]
    # drf-spectacular would give an enumeration a name of its own.
    formats = {**TEXT, "pattern": f"^({'|'.join(values)})$"} if values[1:] else enum_of(*values)
    return object_of(
        {
            "resource_id": RESOURCE_ID,
            "fields": list_of(schema_ref("DatastoreField")),
            "records_format": formats,
            "limit": {**NON_NEGATIVE_INTEGER, "description": "The limit in force."},
            "include_total": BOOLEAN,
            "include_next_page": BOOLEAN,
            "_links": schema_ref("DatastoreLinks"),
            "records": records,
        },
        optional=_OPTIONAL | repeat(SearchParameters),
    )


_OPTIONAL: dict[str, Schema] = {
    "total": {
        **NON_NEGATIVE_INTEGER,
        "description": "All matching records; there if `include_total`.",
    },
    "total_was_estimated": {**BOOLEAN, "description": "Always false."},
    "next_page": {
        "description": "The condition that the records after this page meet: add it to `filters`.",
        **object_of(
            {
                "_id": {
                    "type": "object",
                    "properties": {"gt": _ID, "lt": _ID},
                    "minProperties": 1,
                    "maxProperties": 1,
                }
            }
        ),
    },
}


def repeat(parameters: type[ActionParameters], **own: Schema) -> dict[str, Schema]:
    """Describe the parameters that an answer repeats, and what answers others."""
    fields = parameters.get_declared()
    answered = (field.answers for field in fields.values() if field.answers)
    return {
        **{name: _repeat(name, field) for name, field in fields.items() if field.is_repeated},
        **{member.name: {**member.schema} for member in answered},
        **own,
    }


def _repeat(name: str, field: ParameterField) -> Schema:
    if field.is_repeated_as_sent:
        return one_of(TEXT, list_of(TEXT))
    # Generators of clients cannot tell the objects of an answer from those that are sent.
    schema = ANY_VALUE if field.accepts_text else build_schema(name, field)
    return {"description": "As understood.", **schema}


# The others ---------------------------------------------------------------------------------------


def _build_info() -> Schema:
    stored = object_of(
        {
            "native_type": schema_ref("DatastoreFieldType"),
            "notnull": BOOLEAN,
            "index_name": TEXT,
            "is_index": BOOLEAN,
            "uniquekey": BOOLEAN,
            "facetable": {**BOOLEAN, "description": "Whether facets can count its values."},
            "sortable": {**BOOLEAN, "description": "Whether records can be sorted by it."},
            "searchable": {**BOOLEAN, "description": "Whether `q` finds its words."},
        }
    )
    meta = object_of(
        {
            "id": RESOURCE_ID,
            "count": {**NON_NEGATIVE_INTEGER, "description": "How many records there are."},
            "table_type": enum_of("BASE TABLE"),
            "size": {**NON_NEGATIVE_INTEGER, "description": "Bytes of the records."},
            "idx_size": {**NON_NEGATIVE_INTEGER, "description": "Bytes of the indexes."},
            "db_size": {**NON_NEGATIVE_INTEGER, "description": "Bytes of the whole database."},
            "aliases": list_of(TEXT),
        },
        optional={
            "profiled": {
                "description": "Of which records the profiles of the fields are.",
                **OBJECT,
            }
        },
    )
    profile = {
        "description": "What the values of the field are like; missing after a change.",
        **OBJECT,
    }
    fields = list_of(_build_field(schema=stored, profile=profile))
    return object_of({"fields": fields}, optional={"meta": meta})


def _build_status() -> Schema:
    return object_of(
        {
            "ckan_version": {**TEXT, "description": "The release of CKAN whose actions these are."},
            "datastore_search_version": TEXT,
            "site_title": TEXT,
            "site_description": TEXT,
            "site_url": {"type": "string", "format": "uri"},
            "locale_default": TEXT,
            "extensions": list_of(TEXT),
        },
        additionalProperties=OBJECT["additionalProperties"],
    )

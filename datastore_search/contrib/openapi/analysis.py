"""The results of the actions of ``contrib.analysis`` in JSON Schema."""

from __future__ import annotations

from ..analysis.parameters import AggregateParameters
from ..analysis.spelling import MAX_COUNTED_RECORDS
from .components import (
    ANY_VALUE,
    BOOLEAN,
    NON_NEGATIVE_INTEGER,
    NULL,
    OBJECT,
    TEXT,
    Schema,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from .results import RESOURCE_ID, ROW, repeat


def build_schemas() -> dict[str, Schema]:
    """Build the named schemas of the results."""
    return {
        "DatastoreFacets": object_of(
            {
                "resource_id": RESOURCE_ID,
                "total": {**NON_NEGATIVE_INTEGER, "description": "All matching records."},
                "facets": list_of(
                    schema_ref("DatastoreFacet"), description="In the order asked for."
                ),
            }
        ),
        "DatastoreFacet": _build_facet(),
        "DatastoreAggregate": _build_aggregate(),
        "DatastoreSuggestions": _build_suggestions(),
    }


# datastore_facets ---------------------------------------------------------------------------------


def _build_facet() -> Schema:
    counted = {"count": NON_NEGATIVE_INTEGER}
    figure = one_of(NON_NEGATIVE_INTEGER, NULL)
    return object_of(
        {
            "field": TEXT,
            "type": schema_ref("DatastoreFieldType"),
            "nulls": {**figure, "description": "Records without a value."},
            "others": {**figure, "description": "Records with other values than those listed."},
            "complete": {**BOOLEAN, "description": "False if counting took too long."},
        },
        optional={
            "values": list_of(object_of({"value": ANY_VALUE, **counted})),
            "distinct": {**figure, "description": "The number of different values."},
            "bins": list_of(object_of({"from": ANY_VALUE, "to": ANY_VALUE, **counted})),
            "min": {**ANY_VALUE, "description": "The least value in the bins."},
            "max": {**ANY_VALUE, "description": "The greatest value in the bins."},
        },
    )


# datastore_aggregate ------------------------------------------------------------------------------


def _build_aggregate() -> Schema:
    rows = {**TEXT, "description": "Rows that end in a line break, without a header."}
    return object_of(
        {
            "resource_id": RESOURCE_ID,
            "fields": list_of(schema_ref("DatastoreField")),
            "records_format": schema_ref("DatastoreRecordsFormat"),
            "limit": {**NON_NEGATIVE_INTEGER, "description": "The limit in force."},
            "include_total": BOOLEAN,
            "records": {
                "description": "The groups, in the form that `records_format` says.",
                **one_of(list_of(one_of(OBJECT, ROW)), rows),
            },
        },
        optional={
            **repeat(AggregateParameters),
            "total": {**NON_NEGATIVE_INTEGER, "description": "All groups; if `include_total`."},
        },
    )


# datastore_suggest --------------------------------------------------------------------------------


def _build_suggestions() -> Schema:
    value = object_of({"value": ANY_VALUE, "count": NON_NEGATIVE_INTEGER})
    similar = object_of(
        {
            "word": TEXT,
            "distance": {**NON_NEGATIVE_INTEGER, "description": "Letters that differ."},
            "count": {
                **NON_NEGATIVE_INTEGER,
                "maximum": MAX_COUNTED_RECORDS,
                "description": "Records that the word finds, up to the maximum.",
            },
        }
    )
    word = object_of({"word": TEXT, "suggestions": list_of(similar)})
    query = object_of({"q": TEXT, "total": {**NON_NEGATIVE_INTEGER, "minimum": 1}})
    return object_of(
        {
            "resource_id": RESOURCE_ID,
            "values": list_of(value, description="The most common values first."),
            "words": list_of(word, description="The words of `q` that no record has."),
            "queries": list_of(query, description="Queries that find records."),
            "complete": {**BOOLEAN, "description": "False if there may be other suggestions."},
        }
    )

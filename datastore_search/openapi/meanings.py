"""What each parameter means, in words."""

from __future__ import annotations

from collections.abc import Mapping

from ..api.dumping.parameters import DumpParameters
from ..api.parameters import (
    ActionParameters,
    CreateParameters,
    DeleteParameters,
    HelpParameters,
    InfoParameters,
    RecordsDeleteParameters,
    ResourceParameters,
    SearchParameters,
    UpsertParameters,
)
from ..conf import conf
from ..field_types import field_types
from ..filters import MAX_WORDS

_FORCE = "Change records that came from a file too, although the next file replaces them."
_IGNORED = "A parameter of CKAN's that changes nothing here."
_TYPES = ", ".join(f"`{name}`" for name in field_types)

#: What ``datastore_search`` and the dump have in common.
_QUERY = {
    "offset": "How many matching records to pass over.",
    "fields": "Names of the fields that the records shall have, in this order; all fields if"
    " not given. In one text, names are separated by commas; a name with a comma stands in"
    " double quotes.",
    "filters": "Conditions that the records must meet.",
    "q": "A full-text query: each word must occur in the record, in any field; beginnings and"
    " other forms of words count. An object, or its JSON text, asks single fields: field →"
    f" query. At most {MAX_WORDS} words, over all fields and with `full_text`.",
    "full_text": "A full-text query over all fields, to be combined with a `q` over single"
    " fields; a `q` that is text counts for nothing then.",
    "plain": "False to write `q` in PostgreSQL's query language, with `&`, `|`, `!` and `:*`.",
    "language": "PostgreSQL's text search configuration to read `q` by; the resource's own if"
    " not given.",
    "distinct": "Give each combination of the `fields` once.",
}
_SORT = (
    "Keys to sort by: a field, then `asc` or `desc`, then `nulls first` or `nulls last`. In one"
    " text, keys are separated by commas."
)

_MEANINGS: Mapping[type[ActionParameters], Mapping[str, str]] = {
    ResourceParameters: {
        "resource_id": "The id or an alias of a resource. Needed, unless there is an `id`.",
        "id": "Another name for `resource_id`; wins when both are given.",
    },
    SearchParameters: {
        **_QUERY,
        "resource_id": "The id or an alias of a resource, or `_table_metadata`, which lists the ids"
        " and aliases that you may read. Needed, unless there is an `id`.",
        "limit": "How many records at most: {default} if not given, never more than {most}."
        " 0 gives none.",
        "sort": f"{_SORT} Without it the best match of `q` comes first, then records come in the"
        " order of `_id`.",
        "include_total": "Count all matching records; true if not given.",
        "records_format": "How the records are written: as objects, as lists in the order of"
        " `fields`, or as one text of CSV or TSV without a header. `objects` if not given.",
        "include_next_page": "Say in `next_page` which condition the records after this page meet.",
        "total_estimation_threshold": _IGNORED,
    },
    DumpParameters: {
        **_QUERY,
        "format": "The format of the file; `csv` if not given.",
        "bom": "Begin the file with a byte order mark, which some programs need to read UTF-8.",
        "limit": "How many records at most; all of them if not given.",
        "sort": f"{_SORT} Without it records come in the order of `_id`.",
    },
    InfoParameters: {
        "include_meta": "Describe the table too; true if not given.",
        "include_fields_schema": "Say how each field is stored; true if not given.",
    },
    HelpParameters: {"name": "The name of an action."},
    CreateParameters: {
        "resource_id": "The id or an alias of the resource to write to. A new id, a UUID, makes a"
        " resource. Needed, unless there is an `id` or a `resource`.",
        "id": "Another name for `resource_id`; wins when both are given.",
        "resource": "Make a resource and describe it: `name`, `description`, and `id` if the id"
        " matters. Not together with `resource_id`.",
        "private": "Let only those read the resource who have the permission.",
        "fields": "Fields to add or to describe: objects with `id`, `type` and `info`. Without a"
        f" `type` it is guessed from the records. Types are {_TYPES}.",
        "records": "Records to add: field → value.",
        "primary_key": "Names of the fields that no two records may have the same values in.",
        "indexes": "Names of fields whose order is indexed; equality is for every field.",
        "aliases": "Other names of the resource, in place of those that it has.",
        "delete_fields": "Remove the fields that `fields` does not name.",
        "include_records": "Give the stored records back.",
        "force": _FORCE,
        "calculate_record_count": _IGNORED,
    },
    UpsertParameters: {
        "records": "The records: field → value. They need `_id` or the fields of the primary key,"
        " except to be inserted.",
        "method": "`insert` adds, `update` changes records that are there, `upsert` does what"
        " fits. `upsert` if not given.",
        "dry_run": "Say what would happen, and change nothing.",
        "include_records": "Give the stored records back.",
        "force": _FORCE,
        "calculate_record_count": _IGNORED,
    },
    DeleteParameters: {
        "filters": "Which records to delete. An empty object deletes all of them; without"
        " `filters` the table goes, with its fields and aliases.",
        "include_deleted_records": "Give the deleted records back.",
        "force": _FORCE,
        "calculate_record_count": _IGNORED,
    },
    RecordsDeleteParameters: {
        "filters": "Which records to delete. An empty object deletes all of them.",
    },
}


def meaning_of(parameters: type[ActionParameters], name: str) -> str:
    """Say what a parameter of an action means."""
    for kind in parameters.__mro__:
        meaning = _MEANINGS.get(kind, {}).get(name)
        if meaning is not None:
            return meaning.format(default=conf.LIMIT_DEFAULT, most=conf.LIMIT_MAX)
    return ""

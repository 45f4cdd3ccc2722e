"""``datastore_info``.  Source: CKAN ``datastore_info``, section 13 of its semantics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language, gettext_lazy as _
from rest_framework.request import Request

from ...database.tables import measure_record_table
from ...field_types import field_types
from ...guards.shares import Client
from ...models import IndexKind
from ...search import (
    ConsistentRead,
    Profiles,
    check_has_records,
    describe_fields,
    find_profiles,
    with_consistent_read,
)
from ..authentication import authorize_read
from ..parameters import BooleanField, ResourceParameters, Schema
from ..schemas import (
    BOOLEAN,
    COUNT,
    OBJECT,
    RESOURCE_ID,
    TEXT,
    describe_field,
    enum_of,
    list_of,
    object_of,
    schema_ref,
)
from .action import Answer, build_action

#: The first fields have a profile.
MAX_PROFILED_FIELDS = 100


class InfoParameters(ResourceParameters):
    include_meta = BooleanField(
        help_text=_("Describe the table as a whole, as `meta`."), shown_default="true"
    )
    include_fields_schema = BooleanField(
        help_text=_("Return the `schema` and the `profile` of each field."), shown_default="true"
    )


@build_action(
    InfoParameters,
    _("Describe the fields of a resource, and how many records it has."),
    result=schema_ref("DatastoreInfo"),
    build_schemas=lambda: {"DatastoreInfo": _INFO},
)
def datastore_info(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = InfoParameters.parse(sent)
    name = InfoParameters.get_name(parameters)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        fields = describe_fields(resource.types.items(), resource.infos[get_language()])
        profiles: Profiles | None = {}
        if parameters.get("include_fields_schema", True):
            profiles = find_profiles(read, [*resource.types][:MAX_PROFILED_FIELDS])
            version = resource.table_version
            # One index serves filters by equality on any field.
            is_filtered = version is None or IndexKind.FILTERS in version.indexes
            for described, field in zip(fields, resource.schema, strict=True):
                kind = field_types[field.type]
                described["schema"] = {
                    "native_type": field.type,
                    "notnull": False,
                    "index_name": "primary_key" if field.name in resource.primary_key else "",
                    "is_index": field.has_order_index or is_filtered,
                    "uniquekey": resource.primary_key == [field.name],
                    "facetable": kind.is_sortable,
                    "sortable": kind.is_sortable,
                    # The search vector has the words of all types.
                    "searchable": True,
                }
                if profile := (profiles or {}).get(field.name):
                    described["profile"] = profile
        result: dict[str, Any] = {"fields": fields}
        if parameters.get("include_meta", True):
            result["meta"] = _describe_table(read)
        # Profiles that cannot be had now are there next time.
        return Answer(result, validators=None if profiles is None else validators)

    return with_consistent_read(name, answer, client=Client.from_request(request))


def _describe_table(read: ConsistentRead) -> dict[str, Any]:
    resource = read.resource
    version = resource.table_version
    if version is None:
        return {}
    if version.record_count:
        check_has_records(read)
    size, indexes_size, database_size = measure_record_table(read.session, version.pk)
    aliases = resource.aliases.using(read.connection.alias)
    return {
        "id": str(resource.pk),
        "count": version.record_count,
        "table_type": "BASE TABLE",
        "size": size,
        "idx_size": indexes_size,
        "db_size": database_size,
        "aliases": list(aliases.order_by("-pk").values_list("name", flat=True)),
    }


_SCHEMA = object_of(
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
_PROFILE = {
    "description": "What the values of the field are like, of the first 100 fields.",
    **OBJECT,
}
_META = object_of(
    {
        "id": RESOURCE_ID,
        "count": {**COUNT, "description": "How many records there are."},
        "table_type": enum_of("BASE TABLE"),
        "size": {**COUNT, "description": "Bytes of the records."},
        "idx_size": {**COUNT, "description": "Bytes of the indexes."},
        "db_size": {**COUNT, "description": "Bytes of the whole database."},
        "aliases": list_of(TEXT),
    }
)
_INFO: Schema = object_of(
    {"fields": list_of(describe_field(schema=_SCHEMA, profile=_PROFILE))}, optional={"meta": _META}
)

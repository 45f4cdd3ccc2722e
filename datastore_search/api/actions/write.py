"""The actions that write records.  Source: section 13 of CKAN's semantics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import connections, router
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

from ...database.statements import begin_write_transaction
from ...field_types import field_types
from ...filters import Condition, In, parse_filters
from ...filters.operators import INDEXED_OPERATORS
from ...messages.parameters import InvalidParameter, InvalidParameters
from ...messages.writing import (
    InvalidFieldInfo,
    InvalidFieldName,
    InvalidResourceMember,
    ResourceAndId,
    UnknownFieldType,
)
from ...models import Resource, parse_resource_id
from ...search import (
    ID,
    ConsistentRead,
    Query,
    RawJson,
    build_relation,
    describe_fields,
    read_answer,
)
from ...search.records import Spool
from ...writing import GivenField, Method, Writer, open_writer
from ..authentication import check_may_write, get_reader
from ..new_resources import add_resource, catalogue
from ..parameters import (
    MAX_ALIASES,
    MAX_INDEXES,
    ActionParameters,
    BooleanField,
    ChoiceField,
    FieldsField,
    GivenFiltersField,
    IgnoredField,
    IndexesField,
    NamesField,
    ObjectField,
    RecordsField,
    ResourceIdField,
    ResourceParameters,
    Schema,
    make_printable,
)
from ..schemas import (
    FIELDS,
    RECORDS,
    RESOURCE_ID,
    describe_repeated,
    enum_of,
    object_of,
    schema_ref,
)
from .action import Answer, build_action

# What they have in common -------------------------------------------------------------------------


class WritingParameters(ResourceParameters):
    force = BooleanField(
        help_text=_("Write even if the records come from a file, and the next file replaces them."),
        shown_default="false",
        repeated=False,
    )
    calculate_record_count = IgnoredField(help_text=_("Has no effect: the count is always exact."))


class RecordsParameters(WritingParameters):
    unchecked = frozenset({"records"})

    include_records = BooleanField(
        help_text=_("Return the written records, as they are stored."), shown_default="false"
    )


def _find_writable_resource(
    request: Request, parameters: Mapping[str, Any], verb: str = "change"
) -> Resource:
    name = ResourceParameters.get_name(parameters)
    resource = Resource.objects.named(name).filter(table_version__isnull=False).first()
    return check_may_write(request, resource, name, verb)


def _build_result(
    kind: type[ActionParameters],
    parameters: Mapping[str, Any],
    writer: Writer,
    method: Method | None = None,
    ids: Sequence[int] = (),
) -> dict[str, Any]:
    """Build the result, with the records of the ``ids`` that were written if they are asked for."""
    written = {} if method is None else {"method": method.value}
    result = kind.repeat(parameters, parameters) | written
    result["resource_id"] = str(writer.resource.pk)
    if parameters.get("include_records"):
        result["records"] = _read_records(writer, [In(ID, tuple(ids))])
    return result


def _read_records(writer: Writer, conditions: Sequence[Condition]) -> RawJson | Spool:
    query = Query(limit=None, include_total=False, filters=tuple(conditions))
    read = ConsistentRead(writer.session, build_relation(writer.resource), writer.resource)
    return read_answer(read, query).records


def _build_schema(
    parameters: type[ActionParameters], records: str = "records", **members: Schema
) -> Schema:
    return object_of(
        {"resource_id": RESOURCE_ID, **members},
        optional={**describe_repeated(parameters), records: RECORDS},
    )


# datastore_create ---------------------------------------------------------------------------------

_TYPES = ", ".join(f"`{name}`" for name in field_types)


class CreateParameters(RecordsParameters):
    needed = ("resource_id", "id", "resource")

    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases. A new id, a UUID, creates a "
            "resource. Required, unless there is an `id` or a `resource`."
        )
    )
    resource = ObjectField(
        help_text=_(
            "Describes a new resource by the members of `resource_create`. Not together with"
            " `resource_id`."
        )
    )
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, a "
            "new resource is public, and an existing one is not changed."
        )
    )
    fields: Any = FieldsField(  # DRF takes it out of the class, whose property it would hide
        help_text=format_lazy(
            _(
                "Fields to add or to describe: objects with `id`, `type` and `info`. Types are"
                " {types}; without one, it is inferred from the records. If not given, a new table"
                " has the fields that the first record names."
            ),
            types=_TYPES,
        )
    )
    records = RecordsField(help_text=_("Records to add. Missing members are null."))
    primary_key = NamesField(
        help_text=_(
            "Fields whose values identify a record. An empty list removes the key. If not "
            "given, the key stays."
        )
    )
    indexes = IndexesField(
        MAX_INDEXES,
        help_text=_(
            "Fields whose order is indexed; equality is indexed for every field. If not given, the"
            " indexes stay."
        ),
    )
    index_substrings = BooleanField(
        help_text=format_lazy(
            _(
                "Whether parts of texts are indexed, for {operators} and `substrings`. If not "
                "given, this is not changed."
            ),
            operators=", ".join(f"`{name}`" for name in INDEXED_OPERATORS),
        )
    )
    aliases = NamesField(
        MAX_ALIASES,
        help_text=_(
            "Other names of the resource, which replace its present ones. If not given, they stay."
        ),
    )
    method = IgnoredField(help_text=_("Has no effect: records are always inserted."))
    delete_fields = BooleanField(
        help_text=_(
            "Remove the fields that `fields` does not name, with their values. Has no effect"
            " without `fields`."
        ),
        shown_default="false",
    )


@build_action(
    CreateParameters,
    _("Create a table, add fields, aliases and a primary key to it, and append records."),
    is_writing=True,
    result=schema_ref("DatastoreCreated"),
    build_schemas=lambda: {
        "DatastoreCreated": _build_schema(
            CreateParameters, fields=FIELDS, method=enum_of(Method.INSERT.value)
        )
    },
)
def _datastore_create(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = CreateParameters.parse(sent)
    errors: list[InvalidParameter] = []
    sent_fields = parameters.get("fields") or ()
    for each in sent_fields:
        name, info = each.get("id"), each.get("info")
        if not isinstance(name, str):
            errors.append(InvalidFieldName(field=make_printable(str(name))))
        elif not isinstance(each.get("type"), str | None):
            known = ", ".join(field_types)
            errors.append(UnknownFieldType(field=name, type=each["type"], types=known))
        elif not isinstance(info, Mapping | None):
            errors.append(InvalidFieldInfo(field=make_printable(name)))
    if errors:
        raise InvalidParameters(errors)
    fields = [GivenField(e["id"], e.get("type") or None, e.get("info")) for e in sent_fields]
    records = parameters.get("records") or []
    with begin_write_transaction(connections[router.db_for_write(Resource)]):
        resource = _get_or_add_resource(request, parameters)
        if "private" in parameters:  # which its dataset decides
            parameters["private"] = resource.private
        with open_writer(resource, request.user, force=parameters.get("force", False)) as writer:
            # In CKAN's order: fields, keys, aliases, records.
            writer.create(fields, records, delete_others=parameters.get("delete_fields", False))
            writer.index_orders(parameters.get("indexes", ()))
            if "index_substrings" in parameters:
                writer.index_substrings(parameters["index_substrings"])
            if "primary_key" in parameters:
                writer.set_key(parameters["primary_key"])
            if "aliases" in parameters:
                writer.set_aliases(parameters["aliases"])
            ids = writer.write(records, Method.INSERT)
            result = _build_result(CreateParameters, parameters, writer, Method.INSERT, ids)
            infos = {field.name: field.info for field in writer.resource.schema}
            result["fields"] = describe_fields(writer.resource.types.items(), infos)
    return Answer(result)


def _get_or_add_resource(request: Request, parameters: Mapping[str, Any]) -> Resource:
    """Find the resource to write to; add it if its id is new and the user may add one."""
    described = parameters.get("resource") or {}
    name = str(parameters.get("id") or parameters.get("resource_id") or "")
    if described and name:
        raise ResourceAndId
    existing = Resource.objects.named(name).first() if name else None
    # For one that exists, too, so that both answers take the same time.
    may_add = Resource().permits(get_reader(request), "add")
    if existing is not None:
        check_may_write(request, existing, name)
        if "private" in parameters and not catalogue.entry.is_published(existing):
            existing.private = parameters["private"]
            existing.save(update_fields=["private", "modified_at"])
        return existing
    if name and not (may_add and parse_resource_id(name)):
        check_may_write(request, None, name)
    catalogue.entry.check_may_add(request, described)
    try:
        return add_resource(
            request, {"id": name} if name else described, private=parameters.get("private", False)
        )
    except ValidationError as error:
        raise InvalidParameters(
            InvalidResourceMember(member=member, reason=reason)
            for member, reasons in cast("Mapping[str, list[str]]", error.detail).items()
            for reason in reasons
        ) from error
    except InvalidParameter as error:
        added = Resource.objects.named(name).first() if name else None
        if added is not None:  # another request has added it just now
            check_may_write(request, added, name)
            return added
        error.parameter = "resource"
        raise


# datastore_upsert ---------------------------------------------------------------------------------


class UpsertParameters(RecordsParameters):
    records = RecordsField(
        help_text=_(
            "Records to write. Except with `insert`, they need `_id` or the fields of the "
            "primary key."
        )
    )
    method = ChoiceField(
        ("upsert", "insert", "update"),
        help_text=_(
            "`insert` adds records, `update` changes existing ones, and `upsert` does either."
        ),
        shown_default="upsert",
    )
    dry_run = BooleanField(
        help_text=_("Check everything and answer as usual, but change nothing."),
        shown_default="false",
    )


@build_action(
    UpsertParameters,
    _("Add records, or change those that have the same primary key."),
    is_writing=True,
    result=schema_ref("DatastoreWritten"),
    build_schemas=lambda: {
        "DatastoreWritten": _build_schema(UpsertParameters, method=schema_ref("DatastoreMethod"))
    },
)
def _datastore_upsert(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = UpsertParameters.parse(sent)
    method = Method(parameters.get("method", Method.UPSERT))
    resource = _find_writable_resource(request, parameters)
    with open_writer(resource, request.user, force=parameters.get("force", False)) as writer:
        ids = writer.write(parameters.get("records") or [], method)
        result = _build_result(UpsertParameters, parameters, writer, method, ids)
        if parameters.get("dry_run"):
            writer.roll_back()
    return Answer(result)


# Deleting -----------------------------------------------------------------------------------------


class DeleteParameters(WritingParameters):
    filters = GivenFiltersField(
        help_text=_(
            "Which records to delete; an empty object deletes all of them. If not given, the table"
            " is deleted, with its fields and aliases. Null, an empty text and an empty list are"
            " refused."
        )
    )
    include_deleted_records = BooleanField(
        help_text=_("Return the deleted records."), shown_default="false"
    )


class RecordsDeleteParameters(DeleteParameters):
    filters = GivenFiltersField(
        required=True,
        help_text=_(
            "Which records to delete; an empty object deletes all of them. Null, an empty text and"
            " an empty list are refused."
        ),
    )


def _build_deleted() -> dict[str, Schema]:
    return {"DatastoreDeleted": _build_schema(DeleteParameters, "deleted_records")}


@build_action(
    DeleteParameters,
    _("Delete the records that match the filters or, without filters, the whole table."),
    is_writing=True,
    result=schema_ref("DatastoreDeleted"),
    build_schemas=_build_deleted,
)
def _datastore_delete(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = DeleteParameters.parse(sent)
    if "filters" in parameters:
        return _delete_records(request, parameters)
    resource = _find_writable_resource(request, parameters, "delete")
    with open_writer(resource, request.user, force=parameters.get("force", False)) as writer:
        result = _build_result(DeleteParameters, parameters, writer)
        writer.drop_table()
    return Answer(result)


@build_action(
    RecordsDeleteParameters,
    _("Delete the records that match the filters, and never the table."),
    is_writing=True,
    result=schema_ref("DatastoreDeleted"),
    build_schemas=_build_deleted,
)
def _datastore_records_delete(request: Request, sent: Mapping[str, object]) -> Answer:
    return _delete_records(request, RecordsDeleteParameters.parse(sent))


def _delete_records(request: Request, parameters: Mapping[str, Any]) -> Answer:
    conditions = parse_filters(parameters["filters"])
    resource = _find_writable_resource(request, parameters)
    with open_writer(resource, request.user, force=parameters.get("force", False)) as writer:
        result = _build_result(DeleteParameters, parameters, writer)
        if parameters.get("include_deleted_records"):
            result["deleted_records"] = _read_records(writer, conditions)
        writer.delete(conditions)
    return Answer(result)


write_actions = _datastore_create, _datastore_upsert, _datastore_delete, _datastore_records_delete

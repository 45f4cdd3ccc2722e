"""The actions that write records.  Source: section 13 of CKAN's semantics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import connections, router
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

from ...database.writes import begin_write_transaction
from ...field_types import field_types
from ...filters import Condition, In, parse_filters
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
    read_page,
)
from ...search.spool import Spool
from ...writing import GivenField, Method, Writer, open_writer
from ..new_resources import add_resource, get_resources
from ..parameters import (
    ActionParameters,
    CreateParameters,
    DeleteParameters,
    RecordsDeleteParameters,
    ResourceParameters,
    UpsertParameters,
    make_printable,
)
from ..permissions import check_may_write, get_reader
from .action import Action, Answer

# datastore_create ---------------------------------------------------------------------------------


def _create(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = CreateParameters.parse(sent)
    fields = _read_fields(parameters.get("fields") or ())
    connection = connections[router.db_for_write(Resource)]
    with begin_write_transaction(connection):
        resource = _get_or_add_resource(request, parameters)
        with open_writer(resource, request.user) as writer:
            writer.check_writable(force=parameters.get("force", False))
            ids = _write_table(writer, parameters, fields)
            result = _build_result(CreateParameters, parameters, writer, Method.INSERT)
            infos = {field.name: field.info for field in writer.resource.schema}
            result["fields"] = describe_fields(writer.resource.types.items(), infos)
            if parameters.get("include_records"):
                result["records"] = _read_written_records(writer, ids)
    return Answer(result)


def _write_table(
    writer: Writer, parameters: Mapping[str, Any], fields: Sequence[GivenField]
) -> list[int]:
    """Write what was sent, in CKAN's order: fields, keys, aliases, records."""
    records = parameters.get("records") or []
    writer.create(fields, records, delete_others=parameters.get("delete_fields", False))
    writer.index_orders(parameters.get("indexes", ()))
    if "index_substrings" in parameters:
        writer.index_substrings(parameters["index_substrings"])
    if "primary_key" in parameters:
        writer.set_key(parameters["primary_key"])
    if "aliases" in parameters:
        writer.set_aliases(parameters["aliases"])
    return writer.write(records, Method.INSERT)


def _read_fields(fields: Sequence[Mapping[str, Any]]) -> list[GivenField]:
    """Read the parameter ``fields``: objects with ``id``, and perhaps ``type`` and ``info``."""
    errors: list[InvalidParameter] = []
    for each in fields:
        name, info = each.get("id"), each.get("info")
        if not isinstance(name, str):
            errors.append(InvalidFieldName(field=make_printable(str(name))))
        elif not isinstance(each.get("type"), str | None):
            errors.append(
                UnknownFieldType(field=name, type=each["type"], types=", ".join(field_types))
            )
        elif not isinstance(info, Mapping | None):
            errors.append(InvalidFieldInfo(field=make_printable(name)))
    if errors:
        raise InvalidParameters(errors)
    return [GivenField(each["id"], each.get("type") or None, each.get("info")) for each in fields]


def _get_or_add_resource(request: Request, parameters: Mapping[str, Any]) -> Resource:
    """Find the resource to write to; add it if its id is new and the user may add one."""
    described = parameters.get("resource") or {}
    name = str(parameters.get("id") or parameters.get("resource_id") or "")
    if described and name:
        raise ResourceAndId
    existing = _find_resource(name) if name else None
    if existing is not None:
        check_may_write(request, existing, name)
        if "private" in parameters:
            existing.private = parameters["private"]
            existing.save(update_fields=["private", "modified_at"])
        return existing
    may_add = Resource().permits(get_reader(request), "add")
    if name and not (may_add and parse_resource_id(name)):
        check_may_write(request, None, name)
    check_may_write(request, Resource(), "", "add")
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
        added = _find_resource(name) if name else None
        if added is not None:  # another request has added it just now
            check_may_write(request, added, name)
            return added
        error.parameter = "resource"
        raise


# datastore_upsert ---------------------------------------------------------------------------------


def _upsert(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = UpsertParameters.parse(sent)
    method = Method(parameters.get("method", Method.UPSERT))
    resource = _find_writable_resource(request, parameters)
    with open_writer(resource, request.user) as writer:
        writer.check_writable(force=parameters.get("force", False))
        ids = writer.write(parameters.get("records") or [], method)
        result = _build_result(UpsertParameters, parameters, writer, method)
        if parameters.get("include_records"):
            result["records"] = _read_written_records(writer, ids)
        if parameters.get("dry_run"):
            writer.roll_back()
    return Answer(result)


# Deleting -----------------------------------------------------------------------------------------


def _delete(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = DeleteParameters.parse(sent)
    if "filters" in parameters:
        return _delete_records(request, parameters)
    resource = _find_writable_resource(request, parameters, "delete")
    with open_writer(resource, request.user) as writer:
        writer.check_writable(force=parameters.get("force", False))
        result = _build_result(DeleteParameters, parameters, writer)
        writer.drop_table()
    return Answer(result)


def _delete_records_only(request: Request, sent: Mapping[str, object]) -> Answer:
    return _delete_records(request, RecordsDeleteParameters.parse(sent))


def _delete_records(request: Request, parameters: Mapping[str, Any]) -> Answer:
    conditions = parse_filters(parameters["filters"])
    resource = _find_writable_resource(request, parameters)
    with open_writer(resource, request.user) as writer:
        writer.check_writable(force=parameters.get("force", False))
        result = _build_result(DeleteParameters, parameters, writer)
        if parameters.get("include_deleted_records"):
            result["deleted_records"] = _read_records(writer, conditions)
        writer.delete(conditions)
    return Answer(result)


# Shared ------------------------------------------------------------------------------------------


def _find_resource(name: str) -> Resource | None:
    return get_resources().named(name).first()


def _find_writable_resource(
    request: Request, parameters: Mapping[str, Any], verb: str = "change"
) -> Resource:
    """Find a loaded resource that the user may change."""
    name = ResourceParameters.get_name(parameters)
    resource = get_resources().named(name).filter(table_version__isnull=False).first()
    return check_may_write(request, resource, name, verb)


def _build_result(
    kind: type[ActionParameters],
    parameters: Mapping[str, Any],
    writer: Writer,
    method: Method | None = None,
) -> dict[str, Any]:
    written = {} if method is None else {"method": method.value}
    return kind.repeat(parameters, parameters) | written | {"resource_id": str(writer.resource.pk)}


def _read_written_records(writer: Writer, ids: Sequence[int]) -> RawJson | Spool:
    """Read the written records as they are stored."""
    return _read_records(writer, [In(ID, tuple(ids))])


def _read_records(writer: Writer, conditions: Sequence[Condition]) -> RawJson | Spool:
    query = Query(limit=None, include_total=False, filters=tuple(conditions))
    relation = build_relation(writer.resource)
    read = ConsistentRead(writer.session, relation, writer.resource)
    return read_page(read, query).records


write_actions = (
    Action(
        "datastore_create",
        CreateParameters,
        _create,
        _("Create a table, add fields, aliases and a primary key to it, and append records."),
        is_writing=True,
    ),
    Action(
        "datastore_upsert",
        UpsertParameters,
        _upsert,
        _("Add records, or change those that have the same primary key."),
        is_writing=True,
    ),
    Action(
        "datastore_delete",
        DeleteParameters,
        _delete,
        _("Delete the records that match the filters or, without filters, the whole table."),
        is_writing=True,
    ),
    Action(
        "datastore_records_delete",
        RecordsDeleteParameters,
        _delete_records_only,
        _("Delete the records that match the filters, and never the table."),
        is_writing=True,
    ),
)

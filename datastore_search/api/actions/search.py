"""``datastore_search``.  Source: CKAN ``datastore_search``, sections 3 to 11 of its semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import whitespace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import get_language, gettext_lazy as _
from psycopg import sql
from rest_framework.request import Request

from ...conf import conf
from ...field_types import dump_json_as_sent
from ...filters import Clause, Near, parse_filters
from ...guards.shares import Client
from ...models import Alias, Reader, Resource
from ...search import (
    ConsistentRead,
    Query,
    RecordsFormat,
    Relation,
    SearchAnswer,
    describe_fields,
    open_snapshot,
    read_answer,
    retry_if_stale,
    with_consistent_read,
)
from ...web.addresses import find_base_path
from ..authentication import authorize_read, get_reader
from ..parameters import (
    MAX_ROW_NUMBER,
    BooleanField,
    ChoiceField,
    IgnoredField,
    NonNegativeIntegerField,
    QueryParameters,
    ResourceIdField,
    ResourceParameters,
    Schema,
    SortField,
)
from ..schemas import (
    BOOLEAN,
    COUNT,
    FIELDS,
    ID,
    LIMIT,
    RECORDS,
    RESOURCE_ID,
    ROW,
    ROWS_OF_TEXT,
    TEXT,
    describe_repeated,
    enum_of,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from .action import Action, Answer

#: Records of an answer if no limit is given.
DEFAULT_LIMIT = 100

#: The parameters that a link to another page does not repeat.
_NOT_LINKED = ("resource_id", "id", "offset")


class SearchParameters(ResourceParameters, QueryParameters):
    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases; or `_table_metadata`, which"
            " lists the ids and aliases that the user may read. Required, unless there is an `id`."
        )
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of records. 0 gives none."),
        shown_default=DEFAULT_LIMIT,
        reduced_to=lambda: conf.MAX_LIMIT,
    )
    sort = SortField(
        help_text=_(
            "A key is a field, then `asc` or `desc`, then `nulls first` or `nulls last`. If not"
            " given, records come in the order of `_id`; with `q`, the best match first."
        )
    )
    include_total = BooleanField(
        help_text=_("Count all matching records, as `total`."), shown_default="true"
    )
    records_format = ChoiceField(
        tuple(RecordsFormat),
        help_text=_(
            "The form of the records: objects, lists in the order of `fields`, or one text of CSV"
            " or TSV without a header."
        ),
        shown_default=RecordsFormat.OBJECTS,
    )
    include_next_page = BooleanField(
        help_text=_("Return `next_page`, a condition that the records after this page meet."),
        shown_default="false",
    )
    total_estimation_threshold = IgnoredField(
        help_text=_("Has no effect: totals are always exact.")
    )


def build_query(parameters: Mapping[str, Any]) -> Query:
    """
    Make the query of ``SearchParameters`` that were read.

    A parameter is the attribute of its name, and what ``answers`` one is a member of the page;
    ``geo`` is one of the filters.
    """
    q, full_text = parameters.get("q", ""), parameters.get("full_text", "")
    filters = parse_filters(parameters["filters"]) if "filters" in parameters else ()
    near = (Near(**parameters["geo"]),) if "geo" in parameters else ()
    by_field = q if isinstance(q, Mapping) else {}
    values = {name: parameters[name] for name in Query.__slots__ if name in parameters}
    values |= {
        "limit": min(parameters.get("limit", DEFAULT_LIMIT), conf.MAX_LIMIT),
        "offset": min(parameters.get("offset", 0), MAX_ROW_NUMBER),
        # CKAN: with a full_text, a q that is text counts for nothing.
        "q": full_text or ("" if isinstance(q, Mapping) else q),
        "q_fields": by_field,
        # As PostgreSQL reads names.
        "language": parameters.get("language", "").strip(whitespace).lower(),
        "filters": (*filters, *near),
        "records_format": RecordsFormat(parameters.get("records_format", RecordsFormat.OBJECTS)),
        "members": tuple(
            [
                field.answers
                for name, field in SearchParameters.get_declared().items()
                if field.answers is not None and parameters.get(name)
            ]
        ),
    }
    return Query(**values)


# ``_table_metadata`` ------------------------------------------------------------------------------

#: The name of the pseudo table, used like a resource's id.
TABLE_METADATA = "_table_metadata"

FIELD_TYPES = {"name": "text", "oid": "int8", "alias_of": "text"}


def read_table_metadata(reader: Reader, query: Query, client: Client) -> SearchAnswer:
    """
    Read the ids and aliases of the loaded resources that a user may read.

    The page has no total where it would be wrong.

    Raises: as ``read_answer``.
    """
    with open_snapshot(client) as session:
        using = session.connection.alias
        loaded = Resource.objects.using(using).filter(table_version__isnull=False)
        readable = loaded.readable_by(reader)
        named = loaded.filter(readable.condition).order_by().values_list("id", "table_version_id")
        text, parameters = named.query.get_compiler(using).as_sql()
        aliases = sql.Identifier(Alias._meta.db_table)
        source = sql.SQL(_SOURCE).format(readable=sql.SQL(text), aliases=aliases)
        relation = Relation(
            source=Clause(source, list(parameters)),
            types=FIELD_TYPES,
            language="simple",
            record_count=None,
            row_locator="_id",
        )
        found = read_answer(ConsistentRead(session, relation), query)
    return found if readable.is_complete else replace(found, total=None)


_SOURCE = """(
    SELECT _id, data, datastore_search_vector(data, 'simple') AS search
    FROM (
        SELECT row_number() OVER (ORDER BY oid, alias_of NULLS FIRST, name) AS _id,
            jsonb_build_object('name', name, 'oid', oid, 'alias_of', alias_of) AS data
        FROM (
            WITH readable (id, oid) AS ({readable})
            SELECT id::text AS name, oid, NULL AS alias_of FROM readable
            UNION ALL
            SELECT alias.name, oid, readable.id::text
            FROM {aliases} AS alias JOIN readable ON readable.id = resource_id
        ) AS named
    ) AS numbered
) AS record"""


# The answer ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SearchCall:
    """One call: its parameters as they were ``sent`` and as they were read, and their query."""

    request: Request
    sent: Mapping[str, Any]
    parameters: Mapping[str, Any]
    query: Query


def _search(request: Request, sent: Mapping[str, Any]) -> Answer:
    parameters = SearchParameters.parse(sent)
    name, query = SearchParameters.get_name(parameters), build_query(parameters)
    call = _SearchCall(request, sent, parameters, query)
    client = Client.from_request(request)
    if name == TABLE_METADATA:
        reader = get_reader(request)
        found = retry_if_stale(lambda: read_table_metadata(reader, query, client))
        result = _build_result(call, TABLE_METADATA, {}, found)
        return Answer(result, public=not reader.is_authenticated, record_count=found.record_count)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent, query.limit)
        found = read_answer(read, query)
        result = _build_result(call, str(resource.pk), resource.infos[get_language()], found)
        return Answer(result, validators=validators, record_count=found.record_count)

    return with_consistent_read(name, answer, client=client, as_snapshot=query.is_copied)


def _build_result(
    call: _SearchCall, resource_id: str, infos: Mapping[str, Mapping[str, Any]], found: SearchAnswer
) -> dict[str, Any]:
    """
    Build the result, with the paths of the first, next and previous page.

    They are GET requests below the base called.  Source: CKAN 2.10 and 2.11, which link to a next
    page even after the last, and whose clients append the links to the base that they call.
    """
    request, query = call.request, call.query
    in_force = {
        "resource_id": resource_id,
        "fields": describe_fields(found.fields, infos),
        "records_format": query.records_format.value,
        "limit": query.limit,
        "include_total": query.include_total,
        "include_next_page": query.include_next_page,
    }
    repeated = SearchParameters.repeat(call.parameters, call.sent).items()
    given = {name: value for name, value in repeated if value or value == 0}
    linked: dict[str, str | list[str]] = {"resource_id": resource_id}
    for name, parsed in call.parameters.items():
        if name not in _NOT_LINKED:
            value = call.sent[name] if isinstance(parsed, tuple) else parsed
            linked[name] = value if isinstance(value, str | list) else dump_json_as_sent(value)
    path = request.path[len(find_base_path(request)) - 1 :]
    address = f"{path}?{urlencode(linked, doseq=True)}"
    offset, limit = query.offset, query.limit or 0
    starts = {"start": 0, "next": offset + limit}
    if offset > 0:
        starts["prev"] = max(0, offset - limit)
    links = {
        name: f"{address}&offset={start}" if start else address for name, start in starts.items()
    }
    return {
        **(in_force | given | in_force),
        **({} if found.total is None else {"total": found.total, "total_was_estimated": False}),
        **({"next_page": found.next_page} if found.next_page else {}),
        "_links": links,
        **found.members,
        "records": found.records,
    }


# Its schema ---------------------------------------------------------------------------------------

_OBJECTS, _LISTS, _TEXTS = "DatastorePageOfObjects", "DatastorePageOfLists", "DatastorePageOfText"

_PAGES = {
    RecordsFormat.OBJECTS: _OBJECTS,
    RecordsFormat.LISTS: _LISTS,
    RecordsFormat.CSV: _TEXTS,
    RecordsFormat.TSV: _TEXTS,
}


def _build_page(name: str, records: Schema) -> Schema:
    values = [form.value for form, page in _PAGES.items() if page == name]
    # drf-spectacular would give an enumeration a name of its own.
    formats = {**TEXT, "pattern": f"^({'|'.join(values)})$"} if values[1:] else enum_of(*values)
    bound = {"type": "object", "properties": {"gt": ID, "lt": ID}}
    return object_of(
        {
            "resource_id": RESOURCE_ID,
            "fields": FIELDS,
            "records_format": formats,
            "limit": LIMIT,
            "include_total": BOOLEAN,
            "include_next_page": BOOLEAN,
            "_links": schema_ref("DatastoreLinks"),
            "records": records,
        },
        optional={
            "total": {**COUNT, "description": "All matching records; there if `include_total`."},
            "total_was_estimated": {**BOOLEAN, "description": "Always false."},
            "next_page": {
                "description": "The condition that the records after this page meet: add it to"
                " `filters`.",
                **object_of({"_id": {**bound, "minProperties": 1, "maxProperties": 1}}),
            },
            **describe_repeated(SearchParameters),
        },
    )


datastore_search = Action(
    name="datastore_search",
    parameters=SearchParameters,
    run=_search,
    help=_("Search the records of a resource."),
    result=schema_ref("DatastorePage"),
    build_schemas=lambda: {
        "DatastorePage": {
            **one_of(schema_ref(_OBJECTS), schema_ref(_LISTS), schema_ref(_TEXTS)),
            "discriminator": {
                "propertyName": "records_format",
                "mapping": {form.value: schema_ref(name)["$ref"] for form, name in _PAGES.items()},
            },
        },
        _OBJECTS: _build_page(_OBJECTS, RECORDS),
        _LISTS: _build_page(_LISTS, list_of(ROW)),
        _TEXTS: _build_page(_TEXTS, ROWS_OF_TEXT),
        "DatastoreLinks": object_of({"start": TEXT, "next": TEXT}, optional={"prev": TEXT}),
    },
)

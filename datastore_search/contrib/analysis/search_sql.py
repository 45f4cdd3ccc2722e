"""``datastore_search_sql``.  Source: CKAN, its action of this name, and its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.authentication import check_may_read
from ...api.parameters import ActionParameters, TextField
from ...api.schemas import BOOLEAN, FIELDS, RECORDS, TEXT, object_of, schema_ref
from ...conf import conf as core_conf
from ...guards.shares import Client
from ...search import ConsistentRead, RawJson
from .statements.answers import answer_statement
from .statements.grammar import MAX_LENGTH


class StatementParameters(ActionParameters):
    needed = ("sql",)

    sql = TextField(
        MAX_LENGTH,
        help_text=_(
            "One SELECT of PostgreSQL’s SQL. Its tables are ids, names or aliases of resources, in "
            "double quotes."
        ),
    )


def _search_sql(request: Request, sent: Mapping[str, object]) -> Answer:
    text = StatementParameters.parse(sent)["sql"]

    def authorize(read: ConsistentRead, name: str) -> None:
        check_may_read(request, read.resource, name)

    client = Client.from_request(request)
    found = answer_statement(text, authorize, client, core_conf.MAX_LIMIT)
    names = [json.dumps(name, ensure_ascii=False) for name, _kind in found.fields]
    records = (
        "{" + ", ".join(map(": ".join, zip(names, row, strict=True))) + "}" for row in found.rows
    )
    result = {
        "sql": text,
        "fields": [{"id": name, "type": kind} for name, kind in found.fields],
        **({"records_truncated": True} if found.is_truncated else {}),
        "records": RawJson([b"[", ", ".join(records).encode(), b"]"]),
    }
    return Answer(result, record_count=len(found.rows))


datastore_search_sql = Action(
    name="datastore_search_sql",
    parameters=StatementParameters,
    run=_search_sql,
    help=_("Answer a SELECT over one or several resources."),
    result=schema_ref("DatastoreStatementAnswer"),
    build_schemas=lambda: {
        "DatastoreStatementAnswer": object_of(
            {"sql": TEXT, "fields": FIELDS, "records": RECORDS},
            optional={"records_truncated": {**BOOLEAN, "description": "There are more records."}},
        )
    },
)

"""Values of a field that begin with a text, and the number of records that have each of them."""

from __future__ import annotations

import json
from decimal import Decimal

from ...field_types import Operators, dump_json, field_types
from ...filters import MAX_SHOWN_LENGTH
from ...messages.parameters import InvalidParameter, UnknownField
from ...search import ConsistentRead, Query, bind_query
from .errors import UnsuggestableField
from .facets import Facet, read_facets
from .groups import GroupBy

#: Values of one answer.
MAX_SUGGESTED_VALUES = 100


def suggest_values(
    read: ConsistentRead, query: Query, name: str, prefix: str, limit: int
) -> list[bytes]:
    """
    Suggest at most ``limit`` values of a field that begin with ``prefix``, the most common first.

    They are JSON texts in UTF-8 with the members value and count.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    errors: list[InvalidParameter] = []
    kind = field_types[read.relation.types.get(name, "text")]
    if name not in read.relation.types:
        errors.append(UnknownField(parameter="field", field=name[:MAX_SHOWN_LENGTH]))
    elif Operators.TEXT not in kind.operators:
        errors.append(UnsuggestableField(field=name, type=kind.name))
    bind_query(read, query, errors)
    (facet,) = read_facets(read, query, [Facet(GroupBy(name), query, limit, prefix=prefix)]).facets
    return [
        f'{{"value": {dump_json(each["value"])}, "count": {each["count"]}}}'.encode()
        for each in json.loads(facet, parse_float=Decimal)["values"]
    ]

"""Records with fields of every type, and questions about them, for Hypothesis."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from django.test import Client
from hypothesis import HealthCheck, settings, strategies as st
from psycopg import sql

from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.field_types import field_types
from datastore_search.filters import Clause, parse_filters
from datastore_search.filters.operators import operators
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.models import Resource
from datastore_search.search import ConsistentRead, Query, bind_query, with_consistent_read

from ...builders import act, make_writer_token
from ...typed import CELLS

#: Pairs of letters of many scripts, those whose case is special, and marks.
LETTERS = (
    "aAzZ09 %_\\'\"\n.,-äÄßẞſsSςσΣΑάΆόΌωΩΩåÅÅkKKiIıİi\u0307ǆǅǄéÉe\u0301ñÑđĐłŁœŒŉǰΐﬃ"
    "яЯёЁђЂіІҐґԱաՖֆევაႠⴀⲀⲁꙀꙁꭰᎠ𐐀𐐨𞤀𞤢ⅠⅰⓐⒶａＡ京都नमसชียעבعربيت한국🙂\U0001f600"
)
texts = st.text(alphabet=LETTERS, max_size=4)
#: PostgreSQL has no text with NUL: the API refuses it before.
texts |= st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=2)

NUMBERS = [
    *("0", "-0", "1", "-1", "1.5", "1.50", "1.55", "-1.55", "7", "7.0", "0.1", "1000", "1e3"),
    *("32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "9007199254740993"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e21", "1e-7"),
    *("9" * 38, "-" + "9" * 38, "1" + "0" * 38, "0." + "9" * 38, "9" * 19 + "." + "9" * 19),
    *("1e400", "NaN", "Infinity", "-Infinity"),
]
MOMENTS = [
    *("2024-02-29", "2024-03-01", "0001-01-01", "9999-12-31", "2024-02-29 12:34", "12:34"),
    *("2024-02-29T12:34:56.789", "2024-02-29T12:34:56.789123", "2024-02-29T12:34:56.78"),
    *("2024-02-29T12:34:56Z", "2024-02-29T12:34:56+05:30", "2024-02-29T23:59:59.9-08:00"),
    *("infinity", "-infinity", "24:00:00", "12:34:56.5", "00:00", "29 February 2024", "23:59:60"),
]
numbers = (
    st.sampled_from(NUMBERS)
    | st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str)
    | st.integers(-(10**38), 10**38).map(str)
    | st.integers(-3, 10).map(str)
)
sent_numbers = numbers | numbers.filter(lambda text: text[-1].isdigit()).map(Decimal)

#: Fields by the type of their values: ``wide`` numbers have NaN and 40 digits.
FIELDS = {**{kind: kind for kind in CELLS}, "wide": "numeric", "whole": "numeric"}


def make_value(kind: str, name: str, chosen: random.Random) -> Any:
    """Make a value for a field; half of them are those of other tests, a fifth is null."""
    if chosen.random() < 0.2:
        return None
    if kind == "text" and chosen.random() < 0.8:
        return "".join(chosen.choices(LETTERS, k=chosen.randint(0, 6)))
    if kind == "numeric":
        plain = ["1.5", "1.50", "-1.55", "7", "0", "0.1", "1000", "999999.99", "-999999.99"]
        choices = {"wide": NUMBERS[:-4] + NUMBERS[-3:], "whole": ["9" * 38, "-" + "9" * 38, "7"]}
        return chosen.choice(choices.get(name, plain))
    return chosen.choice(CELLS[kind])[0]


def choose_operands(name: str) -> st.SearchStrategy[Any]:
    """Choose operands that a field takes, and some that it does not."""
    kind = field_types[FIELDS.get(name, "int8")]
    own = st.sampled_from([sent for sent, _text in CELLS[kind.name]]) | st.none()
    if kind.is_number:
        return own | sent_numbers
    if kind.is_moment:
        return own | st.sampled_from(MOMENTS)
    return own if kind.is_nested or kind.is_boolean else own | texts


@st.composite
def comparisons(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["_id", *FIELDS, "text", "text", "text"]))
    operator = draw(st.sampled_from([*operators]))
    operand: Any
    if operator == "isnull":
        operand = draw(st.booleans())
    elif operator == "in":
        operand = draw(st.lists(choose_operands(name), max_size=4))
    elif operators[operator].counts_as_text and name not in {"json", "_text"}:
        operand = draw(texts | st.sampled_from(["7", "1", "-", ".5", "0", "2024-02", "ss", "i"]))
    else:
        operand = draw(choose_operands(name))
    return {name: {operator: operand}}


filters = st.recursive(
    comparisons(),
    lambda each: st.builds(
        lambda word, members: {word: members},
        st.sampled_from(["$and", "$or"]),
        st.lists(each, min_size=1, max_size=3),
    ),
    max_leaves=3,
)


def make_typed_resource() -> Resource:
    chosen = random.Random(47)
    records = [
        {name: make_value(kind, name, chosen) for name, kind in FIELDS.items()}
        for _row in range(90)
    ]
    resource = Resource.objects.create(name="conditions")
    sent = {
        "resource_id": str(resource.pk),
        "fields": [{"id": name, "type": kind} for name, kind in FIELDS.items()],
        "records": records,
    }
    created = act(Client(), "datastore_create", sent, make_writer_token("conditions"))
    assert created.status_code == 200, created.content
    return Resource.objects.described(resource.pk)


#: How many questions the engine has answered without ids of PostgreSQL, and all.
answered = [0, 0]


def check(resource: Resource, asked: dict[str, Any]) -> None:
    """Ask the engine and PostgreSQL which records of a resource meet conditions."""

    def answer(read: ConsistentRead) -> None:
        query = Query(limit=None, filters=parse_filters(asked))
        expected = read.fetch_rows(bind_query(read, query).select(Clause(sql.SQL("_id"))))
        source = Source(read, query, ())
        found = source.fetch("SELECT _id FROM matches")
        assert sorted(found) == sorted(map(list, expected)), source.where
        answered[0] += len(source.tables) == 1
        answered[1] += 1

    try:
        with_consistent_read(resource.pk, answer)
    except InvalidParameters:
        return


quickly, slowly = (
    settings(
        max_examples=number,
        deadline=None,
        derandomize=number == 300,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
    for number in (300, 500)
)

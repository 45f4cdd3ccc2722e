"""
How many functions of ours, in how many files, a warm search calls: its reader has to know them.

Functions are told apart by file and qualified name.  Comprehensions of lists, sets and mappings are
not counted, because Python 3.12 has no calls for them; generator expressions and lambdas are.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from django.test import Client

from ..builders import SURVEY, act, get_result, make_resource
from ..test_architecture import record_calls

#: The last one is called only if the thread of the watchdog sleeps.
_NOT_COUNTED = ("<listcomp>", "<setcomp>", "<dictcomp>", "_Watchdog.wake_thread")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("parameters", "functions", "files"),
    [
        pytest.param({"q": "river"}, 110, 24, id="q"),
        pytest.param({"filters": {"subject": "watershed"}}, 122, 24, id="filters"),
    ],
)
def test_a_warm_search_calls_few_functions(
    parameters: dict[str, Any], functions: int, files: int
) -> None:
    sent = {"resource_id": str(make_resource(SURVEY).pk), **parameters}
    client = Client()
    get_result(act(client, "datastore_search", sent))

    with record_calls() as calls:
        get_result(act(client, "datastore_search", sent))

    # What listens to the signal of a request: uses, and metrics once another test asks for them.
    listening = "contrib/operations/", "contrib/catalogue/uses.py"
    calls = [call for call in calls if not call.file.startswith(listening)]
    called = sorted({call for call in calls if not call.function.endswith(_NOT_COUNTED)})
    by_file = [
        (file, [each.function for each in group])
        for file, group in groupby(called, lambda each: each.file)
    ]
    print(f"\n{parameters}: {len(called)} functions in {len(by_file)} files")  # noqa: T201
    for file, names in by_file:
        print(f"  {len(names):2} {file}: {', '.join(names)}")  # noqa: T201
    assert (len(called), len(by_file)) <= (functions, files)

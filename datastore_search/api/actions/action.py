"""The types of an action and of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from rest_framework.request import Request

from ...contributions import Table
from ...web.caching import Validators
from ..parameters import ActionParameters, Schema


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The result of an action.

    With ``validators`` a client may cache it.  Without them, ``public`` is true where it is the
    same for every user; None forbids caches to store it.  ``record_count`` is the number of records
    of the result.
    """

    result: Any
    public: bool | None = None
    validators: Validators | None = None
    record_count: int = 0


@dataclass(frozen=True, slots=True)
class Action:
    """
    One action; ``run`` takes the request and the parameters as they were sent.

    ``result`` is the JSON Schema of the result, any value if there is none.  ``build_schemas``
    builds the schemas that it refers to, by name, beside those of ``api.schemas``; apps may have
    added parameters by then.
    """

    name: str
    parameters: type[ActionParameters]
    run: Callable[[Request, Mapping[str, object]], Answer]
    help: str | Promise
    is_writing: bool = False
    result: Schema = field(default_factory=dict)
    build_schemas: Callable[[], Mapping[str, Schema]] = dict


#: All actions by name.
actions: Table[Action] = Table("actions")

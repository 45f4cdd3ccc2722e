"""The types of an action and of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from rest_framework.request import Request

from ...http_caching import Validators
from ..parameters import ActionParameters

#: The header that answers depend on, beside address and body.
VARY = ("Authorization",)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The result of an action.

    With ``validators`` a client may cache it.  Without them, ``public`` is true where it is the
    same for every user; None forbids caches to store it.
    """

    result: Any
    public: bool | None = None
    validators: Validators | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """
    One action: its name, the serializer of its parameters, and the function that runs it.

    ``run`` takes the request and the parameters as they were sent.
    """

    name: str
    parameters: type[ActionParameters]
    run: Callable[[Request, Mapping[str, object]], Answer]
    help: str | Promise
    is_writing: bool = False

"""What an action is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from rest_framework.request import Request

from ...validators import Validators
from ..parameters import ActionParameters

#: What the answers of actions depend on, beside address and body.
VARY = ("Authorization",)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The result of an action.

    ``validators`` say how a client may keep it.  Where there are none, ``public`` tells whether
    everybody would get the same; None where it must not be kept at all.
    """

    result: Any
    public: bool | None = None
    validators: Validators | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """
    One action: its name, the table of its parameters and what it does.

    ``run`` takes the request and the parameters as they were sent.
    """

    name: str
    parameters: type[ActionParameters]
    run: Callable[[Request, Mapping[str, object]], Answer]
    help: str | Promise
    is_writing: bool = False

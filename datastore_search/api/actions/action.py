"""The types of an action and of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from rest_framework.request import Request

from ...conf import conf
from ...guards.clients import Client
from ...guards.shares import hold_slot
from ...models import Resource
from ...web.caching import Validators
from ..parameters import ActionParameters
from ..permissions import check_may_read

#: The header that answers depend on, beside address and body.
VARY = ("Authorization",)


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
    """One action; ``run`` takes the request and the parameters as they were sent."""

    name: str
    parameters: type[ActionParameters]
    run: Callable[[Request, Mapping[str, object]], Answer]
    help: str | Promise
    is_writing: bool = False

    def answer(self, request: Request, sent: Mapping[str, object]) -> Answer:
        """Run the action; one that writes holds a slot."""
        if not self.is_writing:
            return self.run(request, sent)
        with hold_slot(Client.from_request(request), conf.WRITE_TIMEOUT):
            return self.run(request, sent)


#: All actions by name, as ``register`` was called: those of the core first.
actions: dict[str, Action] = {}


def register(*new: Action) -> None:
    """Add actions; a contrib app does so when Django starts."""
    actions.update((action.name, action) for action in new)


def authorize_read(request: Request, resource: Resource, name: str, *parts: object) -> Validators:
    """
    Let the user read a resource, by the ``name`` that was sent, and build the answer's validators.

    ``parts`` are what the answer depends on beside the address.

    Raises: ``AccessDenied``; ``NotModified`` when the client has the answer already.
    """
    check_may_read(request, resource, name)
    validators = Validators.from_resource(resource, request, *parts, vary=VARY)
    validators.raise_if_not_modified(request)
    return validators

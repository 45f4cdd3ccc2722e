"""
The addresses of the document: one for each action, where the app has one for all of them.

``describe_actions`` is called by drf-spectacular, which finds it in its setting
``PREPROCESSING_HOOKS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.views import APIView

from ..api.actions import actions
from ..api.dumping import DumpView
from ..api.views import ActionView, VersionView
from . import authentication  # noqa: F401 - importing it registers what it describes
from .operations import ActionSchema, DumpSchema, VersionSchema

#: An address, its pattern, a method and the view, as drf-spectacular has them.
Endpoint = tuple[str, str, str, Any]

_OURS = (ActionView, VersionView, DumpView)

_ACTION = "{action}"
_VERSIONED = f"api/3/action/{_ACTION}"


def describe_actions(endpoints: Iterable[Endpoint], **more: Any) -> list[Endpoint]:
    """
    Put the actions in the place of the addresses that all of them share.

    The document has each action once, at the first address that a portal gives it, with the
    locale under which the document is asked for.

    Source: drf-spectacular's ``PREPROCESSING_HOOKS``.
    """
    others: list[Endpoint] = []
    ours: dict[type[APIView], list[Endpoint]] = {view: [] for view in _OURS}
    for endpoint in endpoints:
        ours.get(endpoint[3].cls, others).append(endpoint)
    return [
        *others,
        *_actions(ours[ActionView]),
        *_first(ours[VersionView], VersionSchema),
        *_first(ours[DumpView], DumpSchema),
    ]


def _actions(shared: Sequence[Endpoint]) -> Iterator[Endpoint]:
    addresses = list(dict.fromkeys(path for path, _regex, _method, _view in shared))
    # Stable: the first of those with a version.
    addresses.sort(key=lambda path: not path.endswith(_VERSIONED))
    if not addresses:
        return
    view = shared[0][3]
    for action in actions.values():
        first, *others = [address.replace(_ACTION, action.name) for address in addresses]
        for method in ("POST",) if action.is_writing else ("GET", "POST"):
            # A schema belongs to one instance of a view: each method has its own.
            yield first, first, method, _describing(view, ActionSchema(action, others))


def _first(endpoints: Sequence[Endpoint], schema: Callable[[], AutoSchema]) -> Iterator[Endpoint]:
    for path, regex, method, view in endpoints[:1]:
        yield path, regex, method, _describing(view, schema())


def _describing(view: Any, schema: AutoSchema) -> Callable[..., Any]:
    described: Callable[..., Any] = view.cls.as_view(**{**view.initkwargs, "schema": schema})
    return described

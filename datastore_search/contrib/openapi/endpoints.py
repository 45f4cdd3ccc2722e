"""
The paths of the document: one for each action, though the app has one URL for all of them.

``describe_actions`` is called by drf-spectacular, which finds it in its setting
``PREPROCESSING_HOOKS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.views import APIView

from ...api.actions import actions
from ...api.views import ActionView, VersionView
from ...downloads.views import DumpView
from . import authentication  # noqa: F401 - importing it registers what it describes
from .operations import ActionSchema, DumpSchema

#: A path, its pattern, a method and the view, as in drf-spectacular.
Endpoint = tuple[str, str, str, Any]

#: The views that are described here; ``api/3`` itself is left out.
_VIEWS = (ActionView, VersionView, DumpView)

_ACTION = "{action}"
_VERSIONED = f"api/3/action/{_ACTION}"


def describe_actions(endpoints: Iterable[Endpoint], **more: Any) -> list[Endpoint]:
    """
    Replace the URL of all actions by a path for each action.

    The document has each action once, at the first path that the portal gives it, under the locale
    of the request for the document.

    Source: drf-spectacular's ``PREPROCESSING_HOOKS``.
    """
    others: list[Endpoint] = []
    ours: dict[type[APIView], list[Endpoint]] = {view: [] for view in _VIEWS}
    for endpoint in endpoints:
        ours.get(endpoint[3].cls, others).append(endpoint)
    return [
        *others,
        *_list_actions(ours[ActionView]),
        *(
            (path, regex, method, _build_view(view, DumpSchema()))
            for path, regex, method, view in ours[DumpView][:1]
        ),
    ]


def _list_actions(shared: Sequence[Endpoint]) -> Iterator[Endpoint]:
    addresses = list(dict.fromkeys(path for path, _regex, _method, _view in shared))
    # The sort is stable: the first path with a version comes first.
    addresses.sort(key=lambda path: not path.endswith(_VERSIONED))
    if not addresses:
        return
    view = shared[0][3]
    for action in actions.values():
        first, *others = [address.replace(_ACTION, action.name) for address in addresses]
        for method in ("POST",) if action.is_writing else ("GET", "POST"):
            # A schema belongs to one instance of a view: each method has its own.
            yield first, first, method, _build_view(view, ActionSchema(action, others))


def _build_view(view: Any, schema: AutoSchema) -> Callable[..., Any]:
    described: Callable[..., Any] = view.cls.as_view(**{**view.initkwargs, "schema": schema})
    return described

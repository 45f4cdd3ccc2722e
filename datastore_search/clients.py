"""
The client that waits for an answer: whether it is still there, and whether it is known.

WSGI itself does not say that a client has closed its connection; some servers do, each in its own
way.  Under the others a client counts as waiting.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Final, Protocol, Self

#: Where ``middleware.DisconnectMiddleware`` keeps an event that is set once the client is gone.
DISCONNECTED: Final = "datastore_search.disconnected"

#: Linux alone tells that the other side has closed a connection without reading from it.
_HUNG_UP = getattr(select, "POLLRDHUP", 0)


class _Request(Protocol):
    """A request of Django's or of REST framework's."""

    @property
    def META(self) -> Mapping[str, Any]: ...  # noqa: N802 - Django's name

    @property
    def user(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Client:
    """
    The client of one request.

    ``environ`` is what the server says of the request.
    """

    environ: Mapping[str, Any]
    is_authenticated: Callable[[], bool]

    @classmethod
    def from_request(cls, request: _Request) -> Client:
        """Describe the client of a request; its token or session is looked at only when asked."""
        return cls(request.META, lambda: bool(request.user and request.user.is_authenticated))

    def without_request(self) -> Self:
        """Give the same client for an answer that must not keep its own request alive."""
        return replace(self, is_authenticated=_is_unknown)

    def is_gone(self) -> bool:
        """Tell whether the client has closed the connection, as far as the server says."""
        for name, is_gone in _SERVERS.items():
            if name in self.environ:
                return is_gone(self.environ[name])
        return False


def _is_unknown() -> bool:
    return False


def _is_hung_up(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, _HUNG_UP)  # errors and the end of both directions are always told
    return bool(poll.poll(0))


def _is_set(event: Event) -> bool:
    return event.is_set()


def _call(is_disconnected: Callable[[], bool]) -> bool:
    return is_disconnected()


#: Which server tells how: the member of ``environ``, and the question to it.
_SERVERS: Mapping[str, Callable[[Any], bool]] = {
    "gunicorn.socket": _is_hung_up,
    "waitress.client_disconnected": _call,
    DISCONNECTED: _is_set,
}

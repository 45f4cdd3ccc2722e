"""
The client of a request: whether it is still connected, and whether it is authenticated.

WSGI has no way to tell that a client has closed its connection.  Some servers have one of their
own; under the others a client counts as connected.
"""

from __future__ import annotations

import operator
import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Final, Protocol, Self

#: The key of an event that ``middleware.disconnect_middleware`` sets once the client is gone.
DISCONNECTED: Final = "datastore_search.disconnected"

#: Only Linux reports a closed connection without a read.
_HUNG_UP = getattr(select, "POLLRDHUP", 0)


class _Request(Protocol):
    """A request of Django or of REST framework."""

    @property
    def META(self) -> Mapping[str, Any]: ...  # noqa: N802 - Django's name

    @property
    def user(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Client:
    """
    The client of one request.

    ``environ`` is the WSGI environment, or ``META`` of an ASGI request.
    """

    environ: Mapping[str, Any]
    is_authenticated: Callable[[], bool]

    @classmethod
    def from_request(cls, request: _Request) -> Client:
        """Make the client of a request; its token or session is read by ``is_authenticated``."""
        return cls(request.META, lambda: bool(request.user and request.user.is_authenticated))

    def without_request(self) -> Self:
        """Copy the client without its request, for an answer that outlives the request."""
        return replace(self, is_authenticated=lambda: False)

    def is_gone(self) -> bool:
        """Return whether the client has closed the connection, as far as the server reports it."""
        for name, is_gone in _SERVERS.items():
            if name in self.environ:
                return is_gone(self.environ[name])
        return False


def _is_hung_up(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, _HUNG_UP)  # poll always reports errors and POLLHUP
    return bool(poll.poll(0))


#: The key in ``environ`` of each server, and the test of its value for a client that is gone.
_SERVERS: Mapping[str, Callable[[Any], bool]] = {
    "gunicorn.socket": _is_hung_up,
    "waitress.client_disconnected": operator.call,
    DISCONNECTED: Event.is_set,
}

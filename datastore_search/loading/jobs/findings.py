"""What a diagnosis finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """
    Something that is damaged: a stable code, the object, and a message.

    ``mend`` repairs it without a loss; None where a person must decide.
    """

    code: str
    name: str
    message: str
    mend: Callable[[], object] | None = None

"""What a doctor may find damaged; contrib apps add what finds and what cleans up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from ..contributions import Table, get_path


@dataclass(frozen=True, slots=True)
class Finding:
    """
    Something that is damaged: a stable code, the object, and a message.

    ``mend`` repairs it without a loss; None where a person must decide.
    Without ``is_damage`` it works, and could be better.
    """

    code: str
    name: str
    message: str
    mend: Callable[[], object] | None = None
    is_damage: bool = True


#: Each takes the connection, and the numbers of the tables that are kept for their resource.
finders: Table[Callable[[BaseDatabaseWrapper, set[int]], Iterator[Finding]]] = Table(
    "finders of damage", get_path
)

#: Each removes what is left behind, and yields a sentence for each thing that it reports.
cleanups: Table[Callable[[], Iterator[str]]] = Table("clean-ups", get_path)

"""What the database refuses because of its own state, or of how the portal is connected to it."""

from __future__ import annotations

from django.db.utils import DatabaseError
from psycopg import errors

from ..exceptions.availability import (
    DatabaseFull,
    DatabaseReadOnly,
    PrivilegeMissing,
    TemporarilyUnavailable,
)


def explain_refusal(error: BaseException) -> TemporarilyUnavailable | None:
    """
    Explain an error of a database that is read-only or full, or of a role without the privilege.

    None when something else is wrong.  A standby, ``default_transaction_read_only``, a full disk
    and a role without privileges are not errors of the request.
    """
    cause = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(cause, errors.ReadOnlySqlTransaction):
        return DatabaseReadOnly()
    if isinstance(cause, errors.InsufficientPrivilege):
        return PrivilegeMissing()
    if isinstance(cause, errors.DiskFull):
        return DatabaseFull()
    return None

"""
What staff see of a table: the resource, its data dictionary and its loads.

The records themselves are in tables of their own (``storage``), one for each load; a resource
points to the load whose table is being served.
"""

from .aliases import MAX_ALIAS_LENGTH, Alias, check_alias, validate_alias
from .deletion import drop_tables_on_commit
from .fields import Field
from .identifiers import normalize_name, parse_resource_id
from .loads import (
    FINISHED,
    RUNNING,
    UPLOADS_FOLDER,
    Load,
    LoadState,
    Mode,
    Origin,
    RowError,
    upload_name,
    upload_storage,
)
from .profiles import Profiles, kept_profiles
from .resources import (
    IndexKind,
    Reader,
    Resource,
    ResourceQuerySet,
    default_language,
    validate_language,
)

__all__ = [
    "FINISHED",
    "MAX_ALIAS_LENGTH",
    "RUNNING",
    "UPLOADS_FOLDER",
    "Alias",
    "Field",
    "IndexKind",
    "Load",
    "LoadState",
    "Mode",
    "Origin",
    "Profiles",
    "Reader",
    "Resource",
    "ResourceQuerySet",
    "RowError",
    "check_alias",
    "default_language",
    "drop_tables_on_commit",
    "kept_profiles",
    "normalize_name",
    "parse_resource_id",
    "upload_name",
    "upload_storage",
    "validate_alias",
    "validate_language",
]

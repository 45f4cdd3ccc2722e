"""
What staff see of a table: the resource, its data dictionary and its table versions.

The records themselves are in record tables (``database.tables``), one for each table version.  A
resource points to the table version that it serves.
"""

from .aliases import MAX_ALIAS_LENGTH, Alias, check_alias, has_dataset
from .base import RESOURCE_ID, parse_resource_id
from .resources import (
    MAX_ORDER_INDEXES,
    Datastore,
    Field,
    IndexKind,
    Reader,
    Resource,
    ResourceQuerySet,
    validate_indexes,
)
from .table_versions import (
    Origin,
    TableSettings,
    TableVersion,
    drop_deleted_tables,
    drop_tables_on_commit,
)
from .translations import (
    MAX_LABEL_LENGTH,
    MAX_LENGTHS,
    MAX_TITLE_LENGTH,
    LocalText,
    Translations,
    split_translations,
    validate_content_language,
    write_translations,
)

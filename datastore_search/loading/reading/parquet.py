"""
Reading Parquet: the file names its fields and their types, and DuckDB reads them.

Each value becomes the text that its type is written as; lists, structs and maps become JSON.
"""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
from duckdb.sqltypes import DuckDBPyType

from ...exceptions.loads import (
    BinaryField,
    EmptyFile,
    TooManyFields,
    UnreadableParquet,
    UnstorableText,
)
from ...storage import FIELDS_MOST
from ..headers import unique_names
from ..options import LoadOptions
from ..table import FAULTS, STAGED, Stage, Table, kept_literal, literal

"""The history of the database: which versions made its tables."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

from .statements import execute, fetch_value

#: A table of the versions before 1.0, whose migrations have the same names as those of today.
_OLD_TABLE = "datastore_search_load"


def refuse_old_database(*, using: str, **_options: Any) -> None:
    """
    Refuse to migrate a database of a version before 1.0; a receiver of ``pre_migrate``.

    Raises: ``CommandError``.
    """
    connection = connections[using]
    if connection.vendor != "postgresql" or not router.allow_migrate(using, "datastore_search"):
        return
    if fetch_value(connection, "SELECT to_regclass(%s) IS NOT NULL", [_OLD_TABLE]):
        raise CommandError(
            f"The database “{using}” has tables of datastore_search before version 1.0, which"
            " cannot be upgraded. Nothing was changed. With the old version, save what you need"
            " (datastore/dump, or pg_dump), and run “migrate datastore_search zero”, or use a new"
            " database. Then migrate with this version, and load the resources again."
        )


def list_own_models(connection: BaseDatabaseWrapper) -> list[type[Model]]:
    """List the models of the installed apps of this project whose tables are in a database."""
    return [
        model
        for model in apps.get_models()
        if model._meta.app_label.startswith("datastore_search")
        and router.allow_migrate_model(connection.alias, model)
    ]


def list_unfit_columns(connection: BaseDatabaseWrapper) -> list[str]:
    """
    List the columns that models have and tables lack, and those that tables need and models lack.

    Before the migrations are applied, this says nothing.
    """
    executor = MigrationExecutor(connection)
    leaves = executor.loader.graph.leaf_nodes()
    if executor.migration_plan([each for each in leaves if each[0].startswith("datastore_search")]):
        return []
    expected = {
        (model._meta.db_table, field.column)
        for model in list_own_models(connection)
        for field in model._meta.concrete_fields
    }
    rows = execute(
        connection,
        "SELECT table_name, column_name, is_identity = 'NO' AND is_nullable = 'NO'"
        " AND column_default IS NULL FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND table_name = ANY (%s)",
        [list({table for table, _column in expected})],
    )
    found = {(table, column): is_needed for table, column, is_needed in rows}
    unknown = {column for column, is_needed in found.items() if is_needed} - expected
    return sorted(f"{table}.{column}" for table, column in (expected - found.keys()) | unknown)

"""
The tables, functions and triggers of this version, compared with those of the database.

PostgreSQL itself compares.  A transaction that is rolled back creates the functions where they are,
and the tables of the models, with the indexes and triggers of the migrations, as temporary ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Final

from django.apps import apps
from django.db import ProgrammingError, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunSQL
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from ...database.findings import Finding
from ...database.placement import keep_on_coordinator
from ...database.statements import execute, fetch_value, renew_versions
from ...database.tables import limit_lock_waits

#: A statement of a file; a semicolon within quotes, a body or a comment does not end it.
_STATEMENT: Final = re.compile(
    r"(?:[^;$'-]++|\$(\w*)\$.*?\$\1\$|'[^']*'|--[^\n]*|[$-])*+;", re.DOTALL
)
#: What a statement creates or drops: the kind, the name, the arguments and the table.
_SUBJECT: Final = re.compile(
    r"(?:\s|--[^\n]*\n)*(CREATE|DROP) (?:OR REPLACE )?(?:UNIQUE )?(FUNCTION|TRIGGER|TABLE|INDEX)\s+"
    r"(?:IF (?:NOT )?EXISTS )?(\w+)(\s*\([^)]*\))?(?:[^;]*?\bON (\w+))?"
)
#: Functions, and the parts of some tables of a schema: kind, table, name, definition, and whether
#: it may make writes fail where this version does not have it.
_PARTS: Final = """
WITH own AS (SELECT oid, relname::text FROM pg_class WHERE relnamespace = %s::regnamespace
             AND relkind IN ('r', 'p') AND relname = ANY (%s))
SELECT 'column', relname, attname::text, concat_ws(
    ' ', format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END,
    'DEFAULT ' || pg_get_expr(adbin, adrelid), CASE WHEN attidentity <> '' THEN 'IDENTITY' END
), attnotnull AND adbin IS NULL AND attidentity = ''
FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL
SELECT 'constraint', relname, pg_get_constraintdef(pg_constraint.oid), '', true
FROM own JOIN pg_constraint ON conrelid = own.oid AND contype IN ('p', 'u', 'c', 'f', 'x')
UNION ALL
SELECT 'index', relname, regexp_replace(pg_get_indexdef(indexrelid), ' INDEX \\S+', ' INDEX'), '',
    false
FROM own JOIN pg_index ON indrelid = own.oid
UNION ALL
SELECT 'trigger', relname, tgname, pg_get_triggerdef(pg_trigger.oid, true)
    || CASE WHEN tgenabled NOT IN ('O', 'A') THEN ' (disabled)' ELSE '' END, false
FROM own JOIN pg_trigger ON tgrelid = own.oid AND NOT tgisinternal
UNION ALL
SELECT 'function', '', oid::regprocedure::text, pg_get_functiondef(oid), false
FROM pg_proc WHERE pronamespace = %s::regnamespace
AND starts_with(proname, 'datastore_search_')
"""


def diagnose_schema(connection: BaseDatabaseWrapper) -> Iterator[Finding]:
    """
    Find what differs from this version of the app; what a portal has added is no damage.

    Raises: Django's ``Error`` when the role may not replace functions or create temporary tables.
    """
    models = [
        model
        for model in apps.get_models()
        if model._meta.app_label.startswith("datastore_search")
        and model._meta.can_migrate(connection)
        and router.allow_migrate_model(connection.alias, model)
    ]
    statements = _list_statements(connection, "TABLE", "INDEX", "TRIGGER")
    tables = [*(model._meta.db_table for model in models), *statements]
    with transaction.atomic(using=connection.alias):
        schema = fetch_value(connection, "SELECT quote_ident(current_schema())")
        path = fetch_value(connection, "SHOW search_path")
        found = _list_parts(connection, schema, tables, schema)
        with connection.cursor() as cursor, keep_on_coordinator(cursor):
            restore_functions(connection)
        # From here on, tables without a schema are temporary, and are found first.
        execute(connection, "SELECT set_config('search_path', 'pg_temp, ' || %s, true)", [path])
        with connection.schema_editor(atomic=False) as editor:
            for model in models:
                editor.create_model(model)
        for statement in statements.values():
            execute(connection, statement)
        temporary = fetch_value(connection, "SELECT pg_my_temp_schema()::regnamespace::text")
        expected = _list_parts(connection, schema, tables, temporary)
        transaction.set_rollback(True, using=connection.alias)
    # Each restores all of its kind, and does so once.
    mends = {kind: (code, cache(partial(do, connection))) for kind, (code, do) in _MENDED.items()}
    present = {table for _kind, table, _name in found}
    for table in sorted({table for _kind, table, _name in expected} - present):
        yield Finding("schema.different", table, "The table is missing.")
    for kind, table, name in sorted(expected.keys() | found.keys()):
        wanted, _ = expected.get((kind, table, name), (None, False))
        actual, is_harmful = found.get((kind, table, name), (None, False))
        is_own = wanted is None and not (kind == "column" or name.startswith("datastore_search_"))
        if table not in present or wanted == actual or (is_own and not is_harmful):
            continue
        message = f"The {kind} is missing, or not that of this version."
        if kind == "column":
            message = f"The column is {actual or 'missing'}, not {wanted or 'there'}."
        elif wanted is None:
            message = f"The {kind} is not of this version."
        code, mend = mends.get(kind, ("schema.different", None))
        label, is_lost = ".".join(filter(None, (table, name))), wanted is not None
        yield Finding(code, label, message, mend if is_lost else None, is_lost or is_harmful)


def restore_functions(connection: BaseDatabaseWrapper) -> None:
    statements = _list_statements(connection, "FUNCTION").values()
    for ignored in ([ProgrammingError], []):  # some call others, which come later
        for statement in statements:
            with suppress(*ignored), transaction.atomic(using=connection.alias):
                execute(connection, statement)


def restore_triggers(connection: BaseDatabaseWrapper) -> None:
    """
    Create the triggers of this version of the app, and enable them.

    Raises: Django's ``OperationalError`` while a table is written to for longer than
    ``LOCK_TIMEOUT``.
    """
    enable = sql.SQL("ALTER TABLE {} ENABLE TRIGGER {}")
    with limit_lock_waits(connection):
        for name, statement in _list_statements(connection, "TRIGGER").items():
            execute(connection, statement)
            execute(connection, enable.format(*map(sql.Identifier, name.split())))
        renew_versions(connection)


_MENDED: Final = {
    "function": ("function.outdated", restore_functions),
    "trigger": ("trigger.disabled", restore_triggers),
}


def _list_statements(connection: BaseDatabaseWrapper, *kinds: str) -> dict[str, str]:
    """
    List what the migrations create, by name; a later one replaces an earlier one.

    The name of a function has its arguments, and that of a trigger has its table before it.
    """
    graph, found = MigrationLoader(None).graph, dict[str, str]()
    plan = dict.fromkeys(key for leaf in graph.leaf_nodes() for key in graph.forwards_plan(leaf))
    operations = [
        each
        for label, migration in plan
        if label.startswith("datastore_search") and router.allow_migrate(connection.alias, label)
        for each in graph.nodes[label, migration].operations
        if isinstance(each, RunSQL)
    ]
    for statement in _STATEMENT.finditer("".join(f"{each.sql};\n" for each in operations)):
        subject = _SUBJECT.match(statement[0])
        if not subject or subject[2] not in kinds:
            continue
        verb, kind, name, arguments, table = subject.groups()
        name = f"{table} {name}" if kind == "TRIGGER" else name
        if verb == "DROP":
            found = {key: text for key, text in found.items() if key.partition("(")[0] != name}
        else:
            name += " ".join((arguments or "").split()) if kind == "FUNCTION" else ""
            found.pop(name, None)
            found[name] = re.sub(r"CREATE (?=FUNCTION|TRIGGER)", "CREATE OR REPLACE ", statement[0])
    return found


def _list_parts(
    connection: BaseDatabaseWrapper, schema: str, tables: list[str], schema_of_tables: str
) -> dict[tuple[str, str, str], tuple[str, bool]]:
    """List the functions and the parts of some tables, without the names of their schema."""
    # Migrations set ``ON DELETE``, which models do not have.
    outside = re.compile(rf"\b(?:pg_temp|{re.escape(schema)})\.| ON DELETE [A-Z ]+?(?= DEF|$)")
    rows = execute(connection, _PARTS, [schema_of_tables, tables, schema])
    return {
        (kind, table, outside.sub("", name)): (outside.sub("", text), is_harmful)
        for kind, table, name, text, is_harmful in rows
    }

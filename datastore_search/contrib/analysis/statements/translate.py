"""
One SELECT of PostgreSQL's dialect as one of DuckDB's, which finds the same rows, or a refusal.

The text that DuckDB gets is written from the checked tree alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.expressions import DType as Kind
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from ....field_types import JSON, NUMERIC, TEXT, field_types
from .errors import InvalidStatement
from .functions import find_function
from .grammar import MAX_TABLES, decode_name, encode, encode_name, find_cte, list_tables
from .rewriting import name_texts, rewrite
from .types import KINDS, OPAQUE, TableColumn, Tables, annotate, get_kind, get_stored, has_texts


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    kind: Kind
    #: The type in PostgreSQL.
    type: str


@dataclass(frozen=True, slots=True)
class Translated:
    """
    ``text`` reads ``tables`` by their names in it, after a WITH and before more of it in ``ctes``.

    ``columns`` are those that are read, by table.
    """

    text: str
    ctes: Sequence[str]
    tables: Mapping[str, str]
    columns: Mapping[str, Sequence[TableColumn]]
    outputs: Sequence[Output]


def list_names(tree: exp.Query) -> list[str]:
    """List the names of the resources that a statement reads.  Raises: ``InvalidStatement``."""
    names = [*dict.fromkeys(_read_name(table.this) for table in list_tables(tree))]
    if len(names) > MAX_TABLES:
        raise InvalidStatement("tables", most=MAX_TABLES)
    return names


def _read_name(identifier: exp.Expr) -> str:
    return decode_name(encode(identifier))


def translate(
    tree: exp.Query, tables: Mapping[str, Sequence[TableColumn]], max_rows: int
) -> Translated:
    """Translate a statement with the tables of ``list_names``.  Raises: ``InvalidStatement``."""
    tree = tree.copy()
    _limit(tree, max_rows)
    keys = {name: f"^{position}" for position, name in enumerate(tables)}
    for table in [*list_tables(tree)]:
        name = _read_name(table.this)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(keys[name], quoted=True))
        table.this.meta["is_key"] = True
    for node in [*tree.find_all(exp.Identifier)]:
        if not node.meta.get("is_key"):
            node.set("this", encode(node))
            node.set("quoted", True)
    schema = {
        keys[name]: {encode_name(each.name): each for each in columns}
        for name, columns in tables.items()
    }
    for select in reversed([*tree.find_all(exp.Select)]):
        _name_items(select)
        _resolve_names(select, schema)
    tree = _qualify(tree, schema)
    for select in tree.find_all(exp.Select):
        _check_distinct(select)
    annotate(tree, schema)
    read = {id(get_stored(column)) for column in tree.find_all(exp.Column)}
    outputs = _list_outputs(tree)
    if isinstance(tree, exp.Select) and _is_plain(tree):
        # Records of one table come in its order, as pages of them expect.
        column = exp.column("_id", table=tree.args["from_"].this.alias, quoted=True)
        tree.set("order", exp.Order(expressions=[exp.Ordered(this=column)]))
    rewrite(tree)
    if isinstance(tree, exp.Select):
        _show_texts(tree)
    with_ = tree.args.get("with_")
    tree.set("with_", None)
    ctes = [] if with_ is None else [_write(each) for each in with_.expressions]
    columns = {
        name: [each for each in listed if id(each) in read] for name, listed in tables.items()
    }
    text = _write(tree)
    if any(output.kind in _SHOWN for output in outputs):
        shown = [_SHOWN.get(output.kind, "#{}").format(at) for at, output in enumerate(outputs, 1)]
        text = f"SELECT {', '.join(shown)} FROM ({text})"
    return Translated(text, ctes, keys, columns, outputs)


#: Moments are shown by their texts: Python has no infinite ones.
_SHOWN: Final = {
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP), "CAST(#{} AS VARCHAR)"),
    Kind.TIMESTAMPTZ: "CAST(timezone('UTC', #{}) AS VARCHAR)",
}


def _write(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb", comments=False)


def _name_items(select: exp.Select) -> None:
    """Give each item of a SELECT the name that PostgreSQL gives it."""
    for item in list(select.expressions):
        if not (isinstance(item, exp.Alias | exp.Star | exp.Column) or item.is_star):
            name = exp.to_identifier(encode_name(_find_name(item)), quoted=True)
            alias = exp.Alias(alias=name)
            item.replace(alias)
            alias.set("this", item)


def _find_name(node: exp.Expr) -> str:
    function = find_function(node)
    if function is not None:
        sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
        return sides.get(str(node.args.get("position")), function.name)
    name = "?column?"
    match node:
        case exp.Column():
            name = decode_name(node.name)
        case exp.Paren() | exp.Window() | exp.Filter() | exp.WithinGroup() | exp.Collate():
            name = _find_name(node.this)
        case exp.Cast():
            name = _name_cast(node)
        case exp.Case():
            last = node.args.get("default")
            name = _find_name(last) if isinstance(last, exp.Column) else "case"
        case exp.Subquery():
            first = node.this.selects[0]
            name = decode_name(first.alias) if first.alias else _find_name(first)
        case exp.Exists():
            name = "exists"
        case exp.AtTimeZone():
            name = "timezone"
    return name


def _name_cast(node: exp.Cast) -> str:
    """Name a cast after what is cast, or after its type if that has no name of its own."""
    inner, kind = node.this, node.args["to"].this
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    name = _find_name(inner)
    is_named = name != ("case" if isinstance(inner, exp.Case) else "?column?")
    if is_named or isinstance(inner, exp.Subquery):
        return name
    return str(_TYPES.get(kind, kind.value.lower()))


_TYPES = {
    **{
        KINDS[each.duckdb_type]: name
        for name, each in field_types.items()
        if each.duckdb_type in KINDS
    },
    Kind.VARCHAR: "varchar",
    **dict.fromkeys((Kind.TEXT, Kind.NULL, Kind.UNKNOWN), TEXT.name),
}


def _resolve_names(select: exp.Select, schema: Tables) -> None:
    """Sort and group by the items that names and numbers stand for."""
    sources = _list_sources(select, schema)
    known = {name for names in sources.values() for name in names}
    leading = next(iter(sources.values()), [])
    for join in select.args.get("joins") or []:
        using = [each.name for each in join.args.get("using") or []]
        has_star = any(isinstance(each, exp.Star) for each in select.expressions)
        if has_star and using != leading[: len(using)]:
            raise InvalidStatement("unsupported", word="* … USING")
    order, group = (select.args.get(name) for name in ("order", "group"))
    for key in [*([each.this for each in order.expressions] if order else []), *_list_on(select)]:
        _resolve_key(key, select.expressions)
    for key in list(group.expressions) if group else []:
        if not (isinstance(key, exp.Column) and (key.table or key.name in known)):
            _resolve_key(key, select.expressions)


def _list_on(select: exp.Select) -> list[exp.Expr]:
    """List what DISTINCT ON has."""
    on = select.args["distinct"].args.get("on") if select.args.get("distinct") else None
    return list(on.expressions) if on else []


def _resolve_key(key: exp.Expr, items: Sequence[exp.Expr]) -> None:
    found: list[exp.Expr] = []
    if isinstance(key, exp.Column) and not key.table:
        found = [each.unalias() for each in items if each.alias_or_name == key.name]
        if any(each != found[0] for each in found):
            raise InvalidStatement("column", word=decode_name(key.name))
    elif isinstance(key, exp.Literal):
        if key.is_string or not key.name.isdecimal():
            raise InvalidStatement("types", word=key.name)
        if not any(each.is_star for each in items):
            if not 0 < int(key.name) <= len(items):
                raise InvalidStatement("column", word=key.name)
            found = [items[int(key.name) - 1].unalias()]
    if found and found[0] != key:
        # In parentheses no number is a position, and no name that of another item.
        key.replace(exp.Paren(this=found[0].copy()))


def _list_sources(select: exp.Select, schema: Tables) -> dict[str, list[str]]:
    """List what a SELECT reads from, with the names of its columns."""
    found: dict[str, list[str]] = {}
    for source in [select.args.get("from_"), *(select.args.get("joins") or [])]:
        item = source.this if source else None
        if isinstance(item, exp.Table) and item.name in schema:
            found[item.alias_or_name] = [*schema[item.name]]
        elif isinstance(item, exp.Table) and (cte := find_cte(item)) is not None:
            names = [each.name for each in cte.args["alias"].args.get("columns") or []]
            found[item.alias_or_name] = names or cte.this.named_selects
        elif item is not None:
            found[item.alias_or_name] = item.this.named_selects
    return found


def _qualify(tree: exp.Query, schema: Tables) -> exp.Query:
    """Name the table of each column, and list those of stars.  Raises: ``InvalidStatement``."""
    try:
        found = qualify(
            tree,
            dialect="duckdb",
            # Otherwise it parses the names of columns: ``$a`` would be a parameter.
            schema=MappingSchema(
                {table: dict.fromkeys(columns, "TEXT") for table, columns in schema.items()},
                normalize=False,
            ),
            quote_identifiers=True,
            identify=True,
            validate_qualify_columns=True,
            expand_alias_refs=False,
        )
    except OptimizeError as error:
        word = re.sub(r"[^':]*(?:'(.*?)' (?:could|due).*|: (.*))", r"\1\2", str(error)).strip('"')
        raise InvalidStatement("column", word=decode_name(word)[:200]) from None
    for column in found.find_all(exp.Column):
        query = None if column.table else column.find_ancestor(exp.Query)
        if query is not None:
            sources = _list_sources(query, schema) if isinstance(query, exp.Select) else {}
            tables = [name for name, names in sources.items() if column.name in names]
            is_key = isinstance(column.parent, exp.Ordered)
            if len(tables) == 1:
                column.set("table", exp.to_identifier(tables[0], quoted=True))
            elif not (is_key and query.named_selects.count(column.name) == 1):
                raise InvalidStatement("column", word=decode_name(column.name))
    if not isinstance(found, exp.Query):
        raise InvalidStatement("unsupported", word="SELECT")
    return found


def _check_distinct(select: exp.Select) -> None:
    """Refuse an order of what DISTINCT leaves out, where PostgreSQL does."""
    order, on = select.args.get("order"), _list_on(select)
    if not select.args.get("distinct") or not order:
        return
    keys = [each.this.unnest() for each in order.expressions]
    shown = [each.unnest() for each in on or [item.unalias() for item in select.selects]]
    names = [] if on else select.named_selects
    for key in keys[: len(on)] if on else keys:
        if key not in shown and not (isinstance(key, exp.Column) and key.name in names):
            raise InvalidStatement("types", word="DISTINCT … ORDER BY")


def _list_outputs(tree: exp.Query) -> list[Output]:
    outputs = []
    for item in tree.selects:
        name, value = decode_name(item.alias_or_name), item.unalias()
        kind = get_kind(item)
        stored = get_stored(value) if isinstance(tree, exp.Select) else None
        if stored is not None:
            type_name = stored.type
        elif kind is Kind.ARRAY:
            type_name = f"_{_TYPES.get(_find_member(value), TEXT.name)}"
        elif kind in OPAQUE:
            type_name = JSON.name if kind is Kind.OBJECT else NUMERIC.name
        elif kind in _TYPES and not (kind is Kind.UNKNOWN and not isinstance(value, exp.Null)):
            type_name = _TYPES[kind]
        else:
            word = name if kind is Kind.UNKNOWN else kind.value.lower()
            raise InvalidStatement("types", word=word)
        outputs.append(Output(name, kind, type_name))
    return outputs


def _find_member(node: exp.Expr) -> Kind:
    found = node.find(exp.ArrayAgg)
    inner = found.this if found else None
    while isinstance(inner, exp.Order | exp.Distinct):
        inner = inner.this or inner.expressions[0]
    return get_kind(inner)


def _is_plain(tree: exp.Select) -> bool:
    """Return whether rows are records of one table, in no order."""
    source = tree.args.get("from_")
    table = source.this if source else None
    others = ("joins", "group", "distinct", "order", "having")
    return (
        isinstance(table, exp.Table)
        and find_cte(table) is None
        and not any(tree.args.get(name) for name in others)
        and not any(each and each.is_aggregate for each in map(find_function, tree.walk()))
    )


def _show_texts(tree: exp.Select) -> None:
    """Show numbers of records with the digits that they are stored with."""
    if tree.args.get("distinct") or tree.args.get("group"):
        return
    for value in [item.unalias() for item in tree.selects]:
        if isinstance(value, exp.Column) and has_texts(value):
            value.replace(name_texts(value))


def _limit(tree: exp.Query, max_rows: int) -> None:
    """Let the outermost statement return one row more than are shown."""
    for node in [*tree.find_all(exp.Limit, exp.Fetch, exp.Offset)]:
        value = node.args.get("count") or node.expression
        if isinstance(value, exp.Null) or value.name.upper() == "ALL":
            node.pop()
        elif not (isinstance(value, exp.Literal) and value.name.isdecimal()):
            raise InvalidStatement("unsupported", word=node.key.upper())
        elif isinstance(node, exp.Fetch):
            node.replace(exp.Limit(expression=value.copy()))
    limit = tree.args.get("limit")
    most = max_rows + 1 if limit is None else min(int(limit.expression.name), max_rows + 1)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(most)))

"""
What a statement may have: one SELECT, of the nodes below, within limits.

sqlglot reads the text into a tree, which is checked node by node; what is not listed is refused by
its word.  Functions are listed in ``functions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from .errors import FunctionDenied, InvalidStatement
from .functions import FUNCTIONS, OPERATORS, find_function

MAX_LENGTH = 20_000
MAX_TOKENS = 3_000
MAX_LEVELS = 60
MAX_TABLES = 4
#: Tables that are read, once each WITH is written where its name is.
MAX_READ_TABLES = 200

#: The nodes that are let through, and their arguments; a function is one more node.
_NODES: Mapping[type[exp.Expr], str] = {
    exp.Select: "with_ expressions distinct from_ joins where group having windows order limit"
    " offset operation_modifiers",
    **dict.fromkeys(
        (exp.Union, exp.Intersect, exp.Except),
        "with_ this expression distinct order limit offset",
    ),
    exp.Subquery: "this alias with_",
    exp.With: "expressions",
    exp.CTE: "this alias materialized",
    exp.From: "this",
    exp.Table: "this alias",
    exp.TableAlias: "this columns",
    exp.Join: "this on side kind using",
    exp.Group: "expressions",
    exp.Order: "this expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Fetch: "direction count limit_options",
    exp.LimitOptions: "rows",
    exp.Distinct: "expressions on",
    exp.Star: "",
    exp.Column: "this table",
    exp.Identifier: "this quoted",
    exp.Cast: "this to",
    exp.DataType: "this expressions",
    exp.DataTypeParam: "this",
    exp.Window: "this partition_by order spec alias over",
    exp.WindowSpec: "kind start start_side end end_side",
    exp.Is: "this expression negate",
    exp.Interval: "this unit",
    exp.DPipe: "this expression safe",
    exp.Array: "expressions",
    exp.Case: "this ifs default",
    exp.If: "this true",
    **dict.fromkeys(
        (
            *OPERATORS, exp.Tuple, exp.Alias, exp.Literal, exp.ByteString, exp.RawString, exp.Null,
            exp.Boolean, exp.Paren, exp.Escape, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod,
            exp.Exists, exp.Filter, exp.WithinGroup, exp.Var, exp.Any, exp.All, exp.AtTimeZone,
            exp.Collate,
        ),
        "this expression expressions alias is_string zone typed safe negate",
    ),
    exp.Between: "this low high",
    exp.In: "this expressions query",
}  # fmt: skip

_SIDES, _KINDS = {"", "LEFT", "RIGHT", "FULL"}, {"", "INNER", "OUTER", "CROSS"}

#: The names by which sqlglot knows the functions; it has others of other dialects.
_KNOWN_NAMES = {each.name.upper() for key, each in FUNCTIONS.items() if key != each.name}
_KNOWN_FORMS = {"CAST", "CEIL", "EXTRACT", "FLOOR", "POSITION", "STRING_AGG", "SUBSTRING", "TRIM"}


class Dialect(Postgres):
    """PostgreSQL's dialect alone, whose formats stay as they are written."""

    class Parser(PostgresParser):
        FUNCTIONS = {
            name: build for name, build in PostgresParser.FUNCTIONS.items() if name in _KNOWN_NAMES
        }
        FUNCTION_PARSERS = {
            name: parse
            for name, parse in PostgresParser.FUNCTION_PARSERS.items()
            if name in _KNOWN_FORMS
        }


def parse(text: str) -> exp.Query:
    """Parse one SELECT of allowed nodes.  Raises: ``InvalidStatement``; ``FunctionDenied``."""
    tokens, statements = _read(text)
    if len(statements) != 1:
        raise InvalidStatement("several")
    tree = statements[0]
    _check_levels(tree)
    while isinstance(tree, exp.Subquery) and not tree.alias and not tree.args.get("with_"):
        tree = tree.this
    if isinstance(tree, exp.Condition | exp.Alias):  # a word alone, as of a misspelt SELECT
        raise InvalidStatement("syntax", word=tokens[0].text[:100])
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise InvalidStatement("unsupported", word=_name_word(tree))
    for table in tree.find_all(exp.Table):
        if table.db == "public":  # the schema of CKAN's tables
            table.set("db", None)
    for node in tree.walk():
        _check_node(node)
    whole = [
        each
        for each in tree.find_all(exp.Join)
        if each.kind == "CROSS" or each.args.get("on") or each.args.get("using")
    ]
    if sum(each.token_type == TokenType.JOIN for each in tokens) != len(whole):
        raise InvalidStatement("syntax", word="JOIN")
    return tree


def _read(text: str) -> tuple[list[Token], list[exp.Expr]]:
    if len(text) > MAX_LENGTH:
        raise InvalidStatement("large")
    if "\0" in text:
        raise InvalidStatement("syntax", word="U+0000")
    try:
        tokens = sqlglot.tokenize(text, read=Dialect)
        if len(tokens) > MAX_TOKENS:
            raise InvalidStatement("large")
        _check_tokens(tokens)
        return tokens, [each for each in sqlglot.parse(text, read=Dialect) if each is not None]
    except ParseError as error:
        word = (error.errors or [{}])[0].get("highlight") or text
        raise InvalidStatement("syntax", word=str(word)[:100]) from None
    except TokenError:
        raise InvalidStatement("syntax", word=text[-50:]) from None
    except RecursionError:
        raise InvalidStatement("large") from None


#: What a query may stand after.
_STARTS = {
    TokenType.L_PAREN, TokenType.UNION, TokenType.ALL, TokenType.EXCEPT, TokenType.INTERSECT,
}  # fmt: skip


#: What has no second one beside it.
_COMPARISONS = exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE
_DIRECTIONS = {TokenType.ASC, TokenType.DESC}

#: What a comma may not stand before, or after.
_AFTER_LISTS = {TokenType.FROM, TokenType.R_PAREN, TokenType.COMMA, TokenType.WHERE}
_BEFORE_LISTS = {TokenType.SELECT, TokenType.L_PAREN}

#: What sqlglot reads as operators, and PostgreSQL does not, or names otherwise.
_FOREIGN_OPERATORS = {"==", "<=>", "&&", "REGEXP", "RLIKE", "^@"}
_TEXTS = {TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING, TokenType.HEREDOC_STRING}


def _check_tokens(tokens: list[Token]) -> None:
    """Refuse what sqlglot reads otherwise: 1_000 is no alias, 'a' 'b' no text, FROM t no query."""
    if tokens and (
        tokens[0].token_type == TokenType.FROM or tokens[-1].token_type == TokenType.COMMA
    ):
        raise InvalidStatement("syntax", word=tokens[0].text)
    for one, two in pairwise(tokens):
        kinds = one.token_type, two.token_type
        is_glued = kinds[0] == TokenType.NUMBER and one.end + 1 == two.start
        if is_glued and re.match(r"\w", two.text):
            raise InvalidStatement("syntax", word=f"{one.text}{two.text}"[:100])
        if (
            kinds == (TokenType.STRING, TokenType.STRING)
            or {*kinds} <= _DIRECTIONS
            or (one.text == "%" and two.text in "+-" and one.end + 1 == two.start)
            or (kinds[1] == TokenType.FROM and kinds[0] in _STARTS)
            or (kinds[1] not in _TEXTS and two.text.upper() in _FOREIGN_OPERATORS)
            or (kinds[0] not in _TEXTS and one.text == "!" and not two.text.startswith("~"))
            or (kinds[0] == TokenType.COMMA and kinds[1] in _AFTER_LISTS)
            or (kinds[1] == TokenType.COMMA and kinds[0] in _BEFORE_LISTS)
        ):
            raise InvalidStatement("syntax", word=two.text[:100])


def _check_levels(tree: exp.Expr) -> None:
    """Refuse too many levels; a chain of one operator is one."""
    level = [tree]
    for _level in range(MAX_LEVELS):
        below: list[exp.Expr] = []
        while level:
            node = level.pop()
            for child in node.iter_expressions():
                is_chain = type(child) is type(node) and isinstance(node, exp.Binary)
                (level if is_chain else below).append(child)
        if not below:
            return
        level = below
    raise InvalidStatement("large")


def _name_word(node: exp.Expr) -> str:
    """Name a node as a person writes it: ``SIMILAR TO``."""
    if isinstance(node, exp.Command):
        return str(node.this)[:50]
    if isinstance(node, exp.Binary | exp.MatchAgainst):
        return node.sql("postgres", comments=False)[:100]
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def _name_argument(name: str, value: object) -> str:
    first = value[0] if isinstance(value, list) else value
    if isinstance(first, exp.Expr):
        return first.sql(Dialect, comments=False).strip()[:100]
    return first if isinstance(first, str) else name.strip("_").upper().replace("_", " ")


def _check_node(node: exp.Expr) -> None:
    allowed = _NODES.get(type(node))
    if allowed is None and find_function(node) is not None:
        return
    if allowed is None:
        if not isinstance(node, exp.Func) or isinstance(node, exp.Binary | exp.MatchAgainst):
            raise InvalidStatement("unsupported", word=_name_word(node))
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        raise FunctionDenied(word=name.lower())
    for name, value in node.args.items():
        if value and name not in allowed.split():
            raise InvalidStatement("unsupported", word=_name_argument(name, value))
    _check_shape(node)
    _check_details(node)


def _check_shape(node: exp.Expr) -> None:
    """Refuse what sqlglot reads, though PostgreSQL finds an error in it."""
    match node:
        case exp.In() if not (node.expressions or node.args.get("query")):
            raise InvalidStatement("syntax", word=")")
        case _ if isinstance(node, _COMPARISONS) and isinstance(node.this, _COMPARISONS):
            raise InvalidStatement("syntax", word=_name_word(node))  # a < b < c
        case exp.SetOperation() if any(map(node.this.args.get, ("order", "limit", "offset"))):
            raise InvalidStatement("syntax", word=node.key.upper())
        case exp.CTE() if isinstance(node.this, exp.Query):
            items, names = node.this.selects, node.args["alias"].columns
            if len(names) > len(items) and not any(item.is_star for item in items):
                raise InvalidStatement("syntax", word=node.alias)


def _check_details(node: exp.Expr) -> None:
    match node:
        case exp.Join() if node.side not in _SIDES or node.kind not in _KINDS:
            raise InvalidStatement("unsupported", word=f"{node.side} {node.kind} JOIN".strip())
        case exp.Select() if not node.expressions or node.args.get("operation_modifiers"):
            raise InvalidStatement("unsupported", word="SELECT")
        case exp.Table() if not isinstance(node.this, exp.Identifier):
            name = node.this.name if isinstance(node.this, exp.Anonymous) else node.this.sql_name()
            raise FunctionDenied(word=name.lower())
        case exp.Collate() if node.expression.name != "C":
            raise InvalidStatement("unsupported", word=f"COLLATE {node.expression.name}")
        case exp.Window() if node.find(exp.Distinct):
            raise InvalidStatement("unsupported", word="DISTINCT … OVER")
        case exp.TableAlias() if node.args.get("columns") and isinstance(node.parent, exp.Table):
            raise InvalidStatement("unsupported", word=f"AS {node.name} (…)")
    if isinstance(node, exp.From | exp.Join):
        item = node.this
        is_query = isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query)
        if not (is_query or isinstance(item, exp.Table)):
            raise InvalidStatement("unsupported", word="FROM")


def list_tables(tree: exp.Query) -> Iterator[exp.Table]:
    """List the tables that are resources, not a WITH.  Raises: ``InvalidStatement``."""
    sizes: dict[int, int] = {}
    for table in [tree, *tree.find_all(exp.CTE)]:
        _measure(table, sizes)
    return (each for each in tree.find_all(exp.Table) if find_cte(each) is None)


def _measure(node: exp.Expr, sizes: dict[int, int]) -> int:
    """Count the tables that a query reads, with those of each WITH as often as it is read."""
    if id(node) not in sizes:
        size = 0
        for table in node.find_all(exp.Table):
            source = find_cte(table)
            size += 1 if source is None else _measure(source, sizes)
            if size > MAX_READ_TABLES:
                raise InvalidStatement("tables", most=MAX_READ_TABLES)
        sizes[id(node)] = size
    return sizes[id(node)]


def find_cte(table: exp.Table) -> exp.CTE | None:
    """Find the WITH that a name stands for; one may not have its own name."""
    child: exp.Expr = table
    name = encode(table.this)
    while (parent := child.parent) is not None:
        given = parent.args.get("with_")
        ctes: list[exp.CTE] = []
        if isinstance(parent, exp.With):
            ctes = parent.expressions[: parent.expressions.index(child) + 1]
            if encode(ctes[-1].args["alias"].this) == name:
                raise InvalidStatement("unsupported", word=f"WITH {table.name}")
        elif given is not None and child is not given:
            ctes = given.expressions
        for cte in ctes:
            if encode(cte.args["alias"].this) == name:
                return cte
        child = parent
    return None


_MARK = "^"
_CODED = re.compile(r"\^(?:\{([0-9a-f]+)\}|(.))", re.DOTALL)


def encode(identifier: exp.Expr) -> str:
    """Write an identifier for DuckDB: names that PostgreSQL takes for one are equal."""
    return encode_name(identifier.name, is_quoted=bool(identifier.args.get("quoted")))


def encode_name(name: str, *, is_quoted: bool = True) -> str:
    """
    Write a name of PostgreSQL for DuckDB, whose names ignore case.

    A capital letter is written as a mark and its small letter, so that ``"A"`` and ``a`` differ;
    names without quotes are folded, as in PostgreSQL.
    """
    folded = name if is_quoted else re.sub("[A-Z]", lambda match: match[0].lower(), name)
    return "".join(map(_encode, folded))


def _encode(letter: str) -> str:
    small = letter.lower()
    if letter == _MARK:
        return _MARK * 2
    if small == letter and letter.upper().lower() == letter:
        return letter
    if small.upper() == letter and len(small) == 1:
        return _MARK + small
    return f"{_MARK}{{{ord(letter):x}}}"


def decode_name(name: str) -> str:
    return _CODED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2].upper(), name)

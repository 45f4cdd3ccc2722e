"""The catalogue of messages: every code that is used is in it, with its parameters."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import datastore_search
from datastore_search.contrib.files.messages import BadRow, LoadFailed, Message, Notice
from datastore_search.contrib.files.messages.catalogue import TEMPLATES
from datastore_search.contrib.files.types.options import load_options

PACKAGE = Path(datastore_search.__file__).parent
CODE = re.compile(rf"({'|'.join(sorted({code.split('.')[0] for code in TEMPLATES}))})\.[a-z_0-9]+")
#: The codes that each class takes, by their first word.
PREFIXES = {
    "BadRow": {"row"},
    "Notice": {"notice"},
    "Message": {"type", "format", "values"},
    "LoadFailed": {code.split(".")[0] for code in TEMPLATES}
    - {"row", "notice", "type", "format", "values"},
}


def list_placeholders(code: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", str(TEMPLATES[code])))


def list_parameters(code: str) -> set[str]:
    """List the placeholders of a message, and the parameters that have values to choose."""
    offers = [option.offers[code] for option in load_options.values() if code in option.offers]
    return list_placeholders(code) | {offer.parameter for offer in offers if offer.parameter}


@cache
def parse_modules() -> list[tuple[Path, ast.Module]]:
    return [
        (path, ast.parse(path.read_text()))
        for path in PACKAGE.rglob("*.py")
        if path.name != "catalogue.py" and "migrations" not in path.parts
    ]


def list_codes(argument: ast.expr) -> list[str]:
    """Give the codes that an argument may be, as far as they are written there."""
    if isinstance(argument, ast.IfExp):
        return [*list_codes(argument.body), *list_codes(argument.orelse)]
    is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    return [argument.value] if is_text else []  # type: ignore[attr-defined] # it is a constant


def get_called_class(call: ast.Call) -> str | None:
    """Name the class of messages that a call makes; subclasses of failures call their parent."""
    if isinstance(call.func, ast.Name) and call.func.id in PREFIXES:
        return call.func.id
    is_parent = (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
        and call.args
        and any(map(CODE.fullmatch, list_codes(call.args[0])))
    )
    return "LoadFailed" if is_parent else None


def test_a_message_has_a_code_and_the_parameters_of_its_template() -> None:
    calls = [
        (path.name, kind, code, {keyword.arg for keyword in call.keywords})
        for path, tree in parse_modules()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and (kind := get_called_class(call)) and call.args
        for code in list_codes(call.args[0])
    ]

    assert len(calls) > 150
    for module, kind, code, parameters in calls:
        assert code in TEMPLATES, module
        assert code.split(".", maxsplit=1)[0] in PREFIXES[kind], (module, code)
        assert parameters == list_parameters(code), (module, code)


def test_every_code_is_used_and_every_used_code_exists() -> None:
    used = {
        node.value
        for _, tree in parse_modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    }

    # One is a file's name, the other a finding of the command that checks a database.
    assert used - {"file.parquet", "schema.different"} == set(TEMPLATES)


def test_every_message_is_stored_and_read_again() -> None:
    for code in TEMPLATES:
        kind = {"row": BadRow, "notice": Notice}.get(code.split(".", maxsplit=1)[0], Message)
        message = kind(code, **dict.fromkeys(list_placeholders(code), "5"))

        read = kind.from_json(json.loads(json.dumps(message.to_json())))

        assert type(read) is kind
        assert str(read) == str(message)
        assert (read.code, read.parameters) == (code, dict.fromkeys(list_placeholders(code), "5"))


def test_a_parameter_may_be_a_message() -> None:
    message = Notice("notice.names_missing", fields=Message("values.dates"))
    stored = message.to_json()

    assert stored == {
        "code": "notice.names_missing",
        "parameters": {"fields": {"code": "values.dates", "parameters": {}}},
    }
    assert (
        str(Notice.from_json(stored))
        == "Fields without a name were named by their position: dates."
    )


def test_an_unknown_code_is_an_unexpected_failure_or_no_message() -> None:
    stored = {"code": "load.of_another_version", "parameters": {"n": 1}}

    assert LoadFailed.from_json(stored).code == "load.unexpected"
    assert Notice.from_json(stored) is None

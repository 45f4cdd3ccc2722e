"""
Write Turtle of the JSON-LD that this package builds: compact names, prefixes, nothing else.

Source: RDF 1.1 Turtle.  Tests compare the triples with those that rdflib reads from the JSON-LD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def write_turtle(document: Mapping[str, Any]) -> str:
    """Write the graph of a document, each named node as a subject of its own."""
    prefixes = "".join(
        f"@prefix {name}: <{address}> .\n" for name, address in document["@context"].items()
    )
    waiting = list(document["@graph"])
    # It grows meanwhile: nested nodes with a name are written later, once each.
    blocks = (f"<{node['@id']}> {_write_members(node, waiting)} .\n" for node in waiting)
    return "\n".join([prefixes, *dict.fromkeys(blocks)])


def _write_members(node: Mapping[str, Any], waiting: list[Any]) -> str:
    return " ;\n    ".join(_list_members(node, waiting))


def _list_members(node: Mapping[str, Any], waiting: list[Any]) -> Iterator[str]:
    for name, value in node.items():
        values = value if isinstance(value, list) else [value]
        if name == "@type":
            yield f"a {', '.join(values)}"
        elif name != "@id":
            yield f"{name} {', '.join(_write_value(each, waiting) for each in values)}"


def _write_value(value: Any, waiting: list[Any]) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if "@value" in value:
        suffix = f"@{value['@language']}" if "@language" in value else f"^^{value['@type']}"
        return f'"{value["@value"].translate(_ESCAPES)}"{suffix}'
    if "@id" not in value:
        return f"[ {_write_members(value, waiting)} ]"
    if len(value) > 1:
        waiting.append(value)
    return f"<{value['@id']}>"

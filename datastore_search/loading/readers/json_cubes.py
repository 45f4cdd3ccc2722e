"""
Read the cubes of JSON-stat: a record for each value, with the codes and labels of its dimensions.

Version 2.0 has a cube as the file itself; older ones have cubes as members of the file, with the
names and sizes of the dimensions within ``dimension``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ...exceptions.loads import LoadFailed
from .json_parser import Document
from .json_records import MemberList

_MAX_CELLS = 10_000_000

#: What is raised for a member that is missing or of another kind.
_DAMAGES = (AttributeError, IndexError, KeyError, TypeError, ValueError)

#: The fields of a category: their keys differ where a dimension is called as another's label.
_Category = list[tuple[tuple[str, str], Any]]


def is_cube(members: Mapping[str, Any]) -> bool:
    """Return whether an object with these members is a cube; only ``dimension`` is looked into."""
    if not {"dimension", "value"} <= members.keys():
        return False
    dimension = members["dimension"]
    within = dimension if isinstance(dimension, Mapping | frozenset) else ()
    return all(name in members or name in within for name in ("id", "size"))


def is_collection(members: Mapping[str, Any]) -> bool:
    """Return whether an object is a collection that has cubes within."""
    link = members.get("link")
    items = link.get("item") if isinstance(link, dict) else None
    return isinstance(items, list) and any(
        isinstance(item, dict) and is_cube(item) for item in items
    )


def read_cube(cube: Mapping[str, Any]) -> Iterator[MemberList]:
    """
    Read a cube: a record for each value.

    Source: JSON-stat 2.0, class ``dataset``; 1.3, “dataset”.

    Raises: ``LoadFailed`` with ``json.invalid_cube``.
    """
    try:
        dimensions = list(_read_dimensions(cube))
        count = _count_cells(dimensions)
        values = _read_cells(cube["value"], count)
        status = _read_status(cube.get("status"), count)
    except _DAMAGES as error:
        raise LoadFailed("json.invalid_cube") from error
    for position, categories in enumerate(product(*dimensions)):
        members = [member for category in categories for member in category]
        members.append((("value", "value"), values.get(position)))
        if status is not None:
            members.append((("status", "status"), status.get(position)))
        yield MemberList(members)


def read_cube_at(document: Document) -> Iterator[MemberList]:
    """Read the cube that begins here; each of its members may be as large as a value of a list."""
    cube: dict[str, Any] = {}
    for name in document.read_members():
        if name in cube:
            raise LoadFailed("json.repeated_member", member=name)
        cube[name] = document.read_value()
    yield from read_cube(cube)


def _read_dimensions(cube: Mapping[str, Any]) -> Iterator[list[_Category]]:
    described = cube["dimension"]
    within = cube if "id" in cube else described
    names, sizes = within["id"], within["size"]
    if not (isinstance(names, list) and len(names) == len(sizes)) or len(set(names)) < len(names):
        raise ValueError
    for name, size in zip(names, sizes, strict=True):
        dimension = _read_dimension(name, described[name]["category"])
        if len(dimension) != int(size):
            raise ValueError
        yield dimension


def _read_dimension(name: str, category: Mapping[str, Any]) -> list[_Category]:
    """Read the categories of a dimension, each with the fields that it gives to a record."""
    labels = category.get("label", {})
    codes = _list_codes(category.get("index", list(labels)))
    if all(labels.get(code, code) == code for code in codes):
        return [[((name, "code"), code)] for code in codes]
    return [
        [((name, "code"), code), ((f"{name} label", "label"), labels.get(code))] for code in codes
    ]


def _list_codes(index: Any) -> Sequence[str]:
    """List the codes of a dimension in their order; each has a position of its own."""
    codes = sorted(index, key=lambda code: int(index[code])) if isinstance(index, dict) else index
    positions = [int(index[code]) for code in codes] if isinstance(index, dict) else []
    if len(set(codes)) < len(codes) or positions != list(range(len(positions))):
        raise ValueError
    return list(codes)


def _count_cells(dimensions: Sequence[Sequence[_Category]]) -> int:
    count = 1
    for dimension in dimensions:
        count *= len(dimension)
        if count > _MAX_CELLS:
            raise ValueError
    return count


def _read_cells(cells: Any, count: int) -> Mapping[int, Any]:
    """Read the cells of a cube by their positions: a list of all, or an object of those there."""
    if isinstance(cells, list):
        if len(cells) != count:
            raise ValueError
        return dict(enumerate(cells))
    found = {int(position): value for position, value in cells.items()}
    if any(position not in range(count) for position in found):
        raise ValueError
    return found


def _read_status(status: Any, count: int) -> Mapping[int, Any] | None:
    """Read the statuses of the values; a single one is that of all of them."""
    if status is None:
        return None
    if isinstance(status, list) and len(status) == 1:
        status = status[0]
    if isinstance(status, str):
        return dict.fromkeys(range(count), status)
    return _read_cells(status, count)

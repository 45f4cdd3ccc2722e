"""The options of reading a file, and how every option of a load is declared."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from enum import Enum, StrEnum
from functools import reduce
from itertools import islice
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..messages import LoadFailed

#: The choice to leave out the footer of a table.
SKIP_FOOTER = "skip"

#: Python's codecs that are not encodings of files.
_OTHER_CODECS = frozenset(("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"))

_RANGE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6}):([A-Z]{1,3})([1-9][0-9]{0,6})?")
#: The last row of a sheet in Excel and OpenDocument.
_MAX_ROW = 1_048_576

#: The names, encodings or files that one message offers at most.
_MAX_OFFERED = 20


class Group(StrEnum):
    """What an option is about: a group of the command's arguments, a table of the reference."""

    RECORDS = "what happens to the records"
    VALUES = "what its values are"
    READING = "how the file is read"
    RUN = "how it is loaded"


class Kind(Enum):
    """How an option is given: as a text, texts, texts by name, a number, a file of JSON, or not."""

    TEXT = "text"
    TEXTS = "texts"
    PAIRS = "pairs"
    NUMBER = "number"
    JSON = "JSON"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Offer:
    """
    A choice that a message about a file offers, by one click.

    The value is ``value``, or the first group of each match of ``pattern`` in a parameter of the
    message; ``label`` may name the groups.
    """

    label: str | Promise = "%(name)s"
    parameter: str = ""
    pattern: str = "“(?P<name>.*?)”"
    value: Any = ""

    def list_choices(self, parameters: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
        """List the values, and a label for each, that a message with these parameters offers."""
        if self.value:
            yield self.value, str(self.label) % parameters
            return
        found = re.finditer(self.pattern, str(parameters.get(self.parameter, "")))
        for match in islice(found, _MAX_OFFERED):
            yield match[1], str(self.label) % match.groupdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """
    What people are told of an option, and how they choose it.

    - ``label`` and ``help`` are for the forms, the command and the reference, ``usage`` only for
      the last two; ``choices`` map values to texts; ``section`` is one of the guide to loading;
    - a value must be one of the choices, unless they are open, and pass ``check``, which raises
      ``LoadFailed``;
    - ``flag`` is the argument of the command, if it is not the option's name; ``flagged`` is the
      value of one that takes none, and ``emptied`` describes one that chooses nothing;
    - ``offers`` are by the code of the message that makes them.
    """

    label: str | Promise
    help: str | Promise = ""
    usage: str = ""
    section: str = ""
    group: Group = Group.READING
    kind: Kind = Kind.TEXT
    choices: Mapping[Any, str | Promise] = field(default_factory=dict)
    is_open: bool = False
    check: Callable[[Any], object] | None = None
    flag: str = ""
    flagged: str = ""
    emptied: str = ""
    is_saved: bool = True
    is_in_upload: bool = True
    is_in_preview: bool = False
    offers: Mapping[str, Offer] = field(default_factory=dict)

    def check_value(self, name: str, value: Any) -> None:
        """
        Check a value that is not the default.

        Raises: ``LoadFailed`` with ``option.unknown_choice``, and what ``check`` raises.
        """
        if self.choices and not self.is_open and value not in self.choices:
            listed = ", ".join(str(choice) for choice in self.choices if choice)
            raise LoadFailed("option.unknown_choice", name=name, value=value, choices=listed)
        if self.check:
            self.check(value)


def option(default: Any, label: str | Promise, text: str | Promise = "", **more: Any) -> Any:
    """Declare an option as a field of a dataclass: its default, its texts, and more of it."""
    about = {"option": Option(label=label, help=text, **more)}
    if default == {}:
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


def find_codec(name: str) -> str:
    """Find Python's name of an encoding."""
    with suppress(LookupError, ValueError):
        found = codecs.lookup(name.strip()).name
        "".encode(found)  # codecs that make bytes of bytes are refused here
        if found not in _OTHER_CODECS:
            return found
    raise LoadFailed("option.unknown_encoding", encoding=name)


@dataclass(frozen=True, slots=True)
class CellRange:
    """The cells between two corners, both included, with rows and columns counted from 1."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def parse(cls, text: str) -> CellRange:
        """
        Parse a range such as ``A1:D20``, or ``A1:D`` for all rows from the first on.

        Raises: ``LoadFailed`` with ``option.invalid_range``.
        """
        match = _RANGE.fullmatch(text.strip().upper().replace("$", ""))
        if not match:
            raise LoadFailed("option.invalid_range", range=text)
        left, top, right, bottom = match.groups()
        found = cls(int(top), _parse_column(left), int(bottom or _MAX_ROW), _parse_column(right))
        if found.top > found.bottom or found.left > found.right:
            raise LoadFailed("option.invalid_range", range=text)
        return found

    @property
    def width(self) -> int:
        return self.right - self.left + 1

    def intersect(self, other: CellRange) -> CellRange | None:
        top, left = max(self.top, other.top), max(self.left, other.left)
        bottom, right = min(self.bottom, other.bottom), min(self.right, other.right)
        found = CellRange(top, left, bottom, right)
        return found if found.top <= found.bottom and found.left <= found.right else None


def _parse_column(letters: str) -> int:
    return reduce(lambda number, letter: 26 * number + ord(letter) - ord("A") + 1, letters, 0)


#: The offered encodings; a command or a program may choose any of Python's.
_ENCODINGS = (
    "utf-8", "utf-16", "windows-1252", "windows-1250", "windows-1251", "windows-1256",
    "windows-1258", "iso-8859-1", "iso-8859-15", "shift_jis", "gb18030", "big5",
    "euc-kr",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """
    The options that decide how the cells of a file are found; an empty one is detected.

    ``languages`` are those that texts of an unknown encoding may be in.
    """

    encoding: str = option(
        "",
        _("Character encoding"),
        usage="Any of Python's, such as windows-1258.",
        choices={"": _("as in the file"), **{name: name for name in _ENCODINGS}},
        is_open=True,
        check=find_codec,
        offers={
            "file.ambiguous_encoding": Offer(
                _("Read as %(encoding)s: %(words)s"),
                "readings",
                r"“(?P<encoding>.*?)” \((?P<words>.*?)\)",
            )
        },
    )
    delimiter: str = option(
        "",
        _("Delimiter of cells"),
        usage="A character, or “tab”.",
        choices={
            "": _("as in the file"),
            ",": _("comma"),
            ";": _("semicolon"),
            "\t": _("tab"),
            "|": _("vertical bar"),
            " ": _("space"),
        },
        is_open=True,
    )
    skip: int | None = option(
        None,
        _("Lines above the header"),
        _("Lines or rows to skip. Empty: detected automatically."),
        kind=Kind.NUMBER,
        flag="--skip-lines",
    )
    no_header: bool = option(
        False,
        _("The file has no header"),
        _("The first row is a record, and the fields are named field_1, field_2 and so on."),
        section="files-without-a-header",
        kind=Kind.FLAG,
        offers={
            "notice.header_like_record": Offer(_("Load the first row as a record"), value=True)
        },
    )
    sheet: str = option(
        "",
        _("Sheet or layer"),
        _(
            "The name of a sheet, or of a layer of a GeoPackage, or its number from 1. Empty: the "
            "first sheet with content, or the only layer."
        ),
        offers={
            "geo.several_layers": Offer(parameter="layers"),
            "geo.unknown_layer": Offer(parameter="layers"),
            **dict.fromkeys(
                ("notice.sheet_chosen", "notice.cover_sheet"),
                Offer(_("Use the sheet “%(name)s”"), "others"),
            ),
            "workbook.unknown_sheet": Offer(_("Use the sheet “%(name)s”"), "sheets"),
        },
    )
    cell_range: str = option(
        "",
        _("Cells of the table"),
        _("Such as A1:D20, or A1:D for all rows below. Empty: the whole sheet."),
        section="several-tables-on-a-sheet",
        check=CellRange.parse,
    )
    fill_merged: bool = option(
        False,
        _("Repeat the value of a merged cell in all its rows"),
        section="merged-cells",
        kind=Kind.FLAG,
        offers={"notice.merged_rows": Offer(_("Repeat the value in all rows"), value=True)},
    )
    member: str = option(
        "",
        _("File in the archive"),
        _("Needed where an archive holds several files."),
        offers={"archive.several_members": Offer(parameter="members")},
    )
    footer: str = option(
        "",
        _("Notes and totals below the table"),
        section="notes-below-a-table",
        choices={"": _("Load them"), SKIP_FOOTER: _("Leave them out")},
        offers={
            "notice.footer_found": Offer(
                _("Leave out the last rows (%(count)s)"), value=SKIP_FOOTER
            )
        },
    )
    records_path: str = option(
        "",
        _("Records in JSON"),
        _("The path to the records, such as data.items. Empty: detected automatically."),
        section="json",
        offers={"json.several_lists": Offer(parameter="paths")},
    )
    nulls: tuple[str, ...] = option(
        (),
        _("Texts that mean “no value”"),
        _("Such as NA or -. Empty cells never have a value."),
        group=Group.VALUES,
        kind=Kind.TEXTS,
        flag="--null",
        offers={
            "type.nearly_all": Offer(_("Treat %(name)s as empty"), "words"),
            "row.error_cell": Offer(_("Treat %(name)s as empty"), "error", "(?P<name>.+)"),
        },
    )
    languages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the options that are not defaults, as what JSON can hold."""
        defaults = type(self)()
        values = asdict(self)
        return {name: value for name, value in values.items() if value != getattr(defaults, name)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read stored options; those that this class does not have are ignored."""
        known = {each.name for each in fields(cls)}
        values = {name: stored[name] for name in known & stored.keys()}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**values | lists)

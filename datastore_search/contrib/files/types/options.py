"""The options of a load: how a file is read, and how its rows are loaded."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from django.conf import settings

from ....models import Resource, add_translations
from ..formats.cell_ranges import CellRange
from ..formats.header_rows import MAX_HEADER_ROWS
from ..formats.options import SKIP_FOOTER, UTF8_WITH_WINDOWS_1252, ReadOptions
from ..messages.failures import LoadFailed
from ..models import Mode
from .chosen_formats import parse_field_format
from .month_names import list_month_languages
from .schema import parse_table_schema
from .written_dates import SHORT_YEAR_ORDERS

#: The orders of a load; those with ``yy`` read years of two digits too.
DATE_ORDERS = ("dmy", "mdy", *SHORT_YEAR_ORDERS)


class BadRowsChoice(StrEnum):
    """What a load does with a file that has rows that cannot be loaded."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class LoadOptions(ReadOptions):
    """
    The choices of a user; an empty one is found out from the file, or is the default.

    - ``types`` maps fields, by name or label, to formats (``text``, ``date``, ``date:dmy``);
    - ``saved_types`` come from earlier loads, ignored if the file lacks the field;
    - ``key`` names the fields of the primary key (None: the resource's own);
    - ``date_order`` is ``dmy`` or ``mdy``, for fields whose dates are ambiguous; ``dmyy``, ``mdyy``
      and ``yymd`` read years of two digits, too;
    - ``date_language`` is the language of names of months in dates (``fr``, ``pt-br``);
    - ``schema`` is a Frictionless Table Schema;
    - ``drop_missing_fields`` lets the resource lose fields that the file lacks;
    - ``force`` loads a file that has not changed since the last load;
    - ``ignore_saved`` ignores the options that the resource saves.
    """

    mode: str = Mode.REPLACE.value
    types: Mapping[str, str] = field(default_factory=dict)
    saved_types: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] | None = None
    bad_rows: str = BadRowsChoice.REFUSE.value
    date_order: str = ""
    date_language: str = ""
    schema: Mapping[str, Any] | None = None
    drop_missing_fields: bool = False
    force: bool = False
    ignore_saved: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the options that are not defaults, as what JSON can hold."""
        defaults = LoadOptions()
        values = asdict(self)
        return {name: value for name, value in values.items() if value != getattr(defaults, name)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read stored options; those that this version does not have are ignored."""
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        for name in ("key", "nulls"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        return cls(**values)

    @property
    def requested_types(self) -> dict[str, str]:
        """
        The formats that fields are to have, by name or label.

        Several, of which the one that most values match is used, have ``|`` between them.
        """
        return {**parse_table_schema(self.schema).types, **self.saved_types, **self.types}

    @property
    def should_refuse_bad_rows(self) -> bool:
        """Whether a single bad row refuses the file."""
        return self.bad_rows == BadRowsChoice.REFUSE

    def select_content_options(self) -> LoadOptions:
        """Return the options that decide how values are loaded, with all types in one place."""
        return replace(
            _reset_unsaved_options(self),
            mode=self.mode,
            bad_rows=self.bad_rows,
            saved_types={**self.saved_types, **self.types},
        )


_DEFAULTS = LoadOptions()

#: Options that are not saved for the next load: they are not about how files are read, and the
#: resource saves its key and the types of its fields itself.
_NOT_SAVED = (
    *("mode", "bad_rows", "key", "types", "saved_types"),
    *("drop_missing_fields", "force", "ignore_saved", "languages"),
)

#: Options of which the saved one is used where the call has none.
_SAVED_UNLESS_GIVEN = {each.name for each in fields(LoadOptions)}.difference(
    _NOT_SAVED, ("skip", "nulls")
)


def resolve_options(resource: Resource | None, options: LoadOptions) -> LoadOptions:
    """
    Complete the options of a call with those that the resource saves.

    A field has the type of the call, or the one that was chosen for the field, or the schema's.

    Raises: ``LoadFailed`` with ``option.unknown_choice``, ``option.unknown_encoding``,
    ``UnknownType``, ``InvalidSchema``.
    """
    _check_options(options)
    saved, chosen_types = _DEFAULTS, {}
    if resource is not None and not options.ignore_saved:
        saved = _reset_unsaved_options(LoadOptions.from_json(resource.options))
        chosen = resource.fields.exclude(chosen_type="")
        chosen_types = dict(chosen.values_list("name", "chosen_type"))
    schema = parse_table_schema(options.schema)
    known = (
        [resource.content_language]
        if resource and resource.content_language
        else (code for code, _name in settings.LANGUAGES)
    )
    return replace(
        options,
        **{name: getattr(options, name) or getattr(saved, name) for name in _SAVED_UNLESS_GIVEN},
        languages=tuple(dict.fromkeys(code.partition("-")[0] for code in known)),
        skip=saved.skip if options.skip is None else options.skip,
        key=schema.primary_key if options.key is None else options.key,
        nulls=options.nulls or schema.missing_values or saved.nulls,
        saved_types={**chosen_types, **options.saved_types},
    )


def resolve_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """Resolve the primary key of a load: the chosen one, or the resource's."""
    return tuple(resource.primary_key) if options.key is None else tuple(options.key)


def save_options(
    resource: Resource, options: LoadOptions, *, units: Mapping[str, str] | None = None
) -> None:
    """
    Save the options of a successful load for the next one: how files are read, and the types.

    ``units`` are the units of number fields, by name: they become members ``unit`` of the data
    dictionary.  Fields without a label, notes or a translation of them get the schema's.
    """
    resource.options = _reset_unsaved_options(options).to_json()
    resource.save(update_fields=["options", "modified_at"])
    descriptions = parse_table_schema(options.schema).descriptions
    if not (options.ignore_saved or options.types or descriptions or units):
        return
    changed, names = [], ["chosen_type", "label", "notes", "translations", "extra_info"]
    for field_ in resource.fields.all():
        known = [getattr(field_, name) for name in names]
        if options.ignore_saved or field_.name in options.types:
            field_.chosen_type = options.types.get(field_.name, "")
        if description := descriptions.get(field_.name):
            field_.label = field_.label or description.label
            field_.notes = field_.notes or description.notes
            field_.translations = add_translations(field_.translations, description.translations)
        if unit := (units or {}).get(field_.name):
            field_.extra_info = {**field_.extra_info, "unit": unit}
        if known != [getattr(field_, name) for name in names]:
            changed.append(field_)
    resource.fields.bulk_update(changed, names, batch_size=500)


def _reset_unsaved_options(options: LoadOptions) -> LoadOptions:
    return replace(options, **{name: getattr(_DEFAULTS, name) for name in _NOT_SAVED})


def _check_options(options: LoadOptions) -> None:
    choices: dict[str, Sequence[object]] = {
        "mode": Mode.values,
        "bad_rows": [choice.value for choice in BadRowsChoice],
        "date_order": ["", *DATE_ORDERS],
        "date_language": ["", *list_month_languages()],
        "footer": ["", SKIP_FOOTER],
        "header_rows": [None, *range(1, MAX_HEADER_ROWS + 1)],
    }
    for name, known in choices.items():
        value = getattr(options, name)
        if value not in known:
            listed = ", ".join(str(choice) for choice in known if choice)
            raise LoadFailed("option.unknown_choice", name=name, value=value, choices=listed)
    if options.encoding not in {"", UTF8_WITH_WINDOWS_1252}:
        try:
            codecs.lookup(options.encoding)
        except LookupError as error:
            raise LoadFailed("option.unknown_encoding", encoding=options.encoding) from error
    if options.cell_range:
        CellRange.parse(options.cell_range)
    for name in options.types.values():
        parse_field_format(name)

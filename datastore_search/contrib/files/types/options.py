"""The options of a load: how a file is read, and how its rows are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from ....models import Resource
from ..formats.options import Group, Kind, Option, ReadOptions, option
from ..models import Mode
from .field_formats import FieldFormat, parse_field_format
from .schema import parse_table_schema


class BadRowsChoice(StrEnum):
    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class LoadOptions(ReadOptions):
    """
    The choices of a user; an empty one is found out from the file, or is the default.

    ``types`` maps fields, by name or label, to formats (``text``, ``date``, ``date:dmy``), as
    ``saved_types`` do, which come from earlier loads, and are ignored if the file lacks the field.
    A ``key`` of None is the resource's own.
    """

    mode: str = option(
        Mode.REPLACE.value,
        _("What happens to the records"),
        section="replace-append-upsert",
        group=Group.RECORDS,
        choices=dict(Mode.choices),
        is_saved=False,
    )
    key: tuple[str, ...] | None = option(
        None,
        _("Fields of the key"),
        _("Names of fields that identify a record. Updates need them."),
        group=Group.RECORDS,
        kind=Kind.TEXTS,
        emptied="Remove the resource’s key.",
        is_saved=False,
    )
    bad_rows: str = option(
        BadRowsChoice.REFUSE.value,
        _("Rows that cannot be loaded"),
        section="bad-rows",
        group=Group.RECORDS,
        choices={
            BadRowsChoice.REFUSE.value: _(
                "refuse the file: nothing changes, and the report lists them"
            ),
            BadRowsChoice.SKIP.value: _("leave them out and load the rest; the report lists them"),
        },
        flag="--skip-bad-rows",
        flagged=BadRowsChoice.SKIP.value,
        is_saved=False,
        is_in_preview=True,
    )
    drop_missing_fields: bool = option(
        False,
        _("Fields may disappear"),
        _(
            "The file is loaded only if you allow these fields to disappear, with their labels and "
            "notes."
        ),
        group=Group.RECORDS,
        kind=Kind.FLAG,
        is_saved=False,
        is_in_upload=False,
        is_in_preview=True,
    )
    types: Mapping[str, str] = option(
        {},
        "Type of a field",
        usage="A type, with a format if needed, as in day=date:dmy, instead of what is inferred.",
        section="types",
        group=Group.VALUES,
        kind=Kind.PAIRS,
        check=lambda types: [parse_field_format(name) for name in types.values()],
        flag="--type",
        is_in_upload=False,
    )
    date_order: str = option(
        "",
        _("Dates that can be read both ways"),
        usage="Any of them also reads English names of months.",
        group=Group.VALUES,
        choices={
            "": _("neither: the field stays text"),
            "dmy": _("day first: 03/04/2025 is 3 April"),
            "mdy": _("month first: 03/04/2025 is 4 March"),
            "dmyy": _("day first, also years of two digits: 03/04/69 is 3 April 1969, 68 is 2068"),
            "mdyy": _(
                "month first, also years of two digits: 03/04/69 is 4 March 1969, 68 is 2068"
            ),
            "yymd": _("year first, also years of two digits: 69/04/03 is 3 April 1969, 68 is 2068"),
        },
    )
    schema: Mapping[str, Any] | None = option(
        None,
        _("Table Schema"),
        _("A Frictionless Table Schema as JSON: types, titles, descriptions, missing values, key."),
        section="table-schema",
        group=Group.VALUES,
        kind=Kind.JSON,
        check=parse_table_schema,
    )
    ignore_saved: bool = option(
        False,
        "Forget the options of earlier loads",
        group=Group.RUN,
        kind=Kind.FLAG,
        is_saved=False,
        is_in_upload=False,
    )
    force: bool = option(
        False,
        _("Load the file even if it is the same as the last one"),
        group=Group.RUN,
        kind=Kind.FLAG,
        is_saved=False,
    )
    saved_types: Mapping[str, str] = field(default_factory=dict)

    @property
    def requested_types(self) -> dict[str, str]:
        """
        The formats that fields are to have, by name or label.

        Several, of which the one that most values match is used, have ``|`` between them.
        """
        return {**parse_table_schema(self.schema).types, **self.saved_types, **self.types}

    @property
    def should_refuse_bad_rows(self) -> bool:
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

#: Every option that people choose, by its name, in the order of the groups.
load_options: Mapping[str, Option] = {
    each.name: each.metadata["option"]
    for group in Group
    for each in fields(LoadOptions)
    if each.metadata and each.metadata["option"].group == group
}

#: The options that the resource saves; each field saves its type.
_SAVED = [name for name, each in load_options.items() if each.is_saved and name != "types"]


def resolve_options(resource: Resource | None, options: LoadOptions) -> LoadOptions:
    """
    Complete the options of a call with those that the resource saves.

    A field has the type of the call, or the one that was chosen for the field, or the schema's.

    Raises: ``LoadFailed`` with ``option.unknown_choice``, ``option.unknown_encoding``,
    ``UnknownType``, ``InvalidSchema``.
    """
    for name, each in load_options.items():
        if (value := getattr(options, name)) != getattr(_DEFAULTS, name):
            each.check_value(name, value)
    saved, chosen_types = _DEFAULTS, {}
    if resource is not None and not options.ignore_saved:
        saved = LoadOptions.from_json(resource.options)
        chosen = resource.fields.exclude(chosen_type="")
        chosen_types = dict(chosen.values_list("name", "chosen_type"))
    schema = parse_table_schema(options.schema)
    own = resource.content_language if resource else ""
    languages = [own] if own else [code for code, _name in settings.LANGUAGES]
    kept = {
        name: getattr(saved, name)
        for name in _SAVED
        if getattr(options, name) == getattr(_DEFAULTS, name)
    }
    if "nulls" in kept and schema.missing_values:
        kept["nulls"] = schema.missing_values
    return replace(
        options,
        **kept,
        languages=tuple(dict.fromkeys(code.partition("-")[0] for code in languages)),
        key=schema.primary_key if options.key is None else options.key,
        saved_types={**chosen_types, **options.saved_types},
    )


def resolve_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """Resolve the primary key of a load: the chosen one, or the resource's."""
    return tuple(resource.primary_key) if options.key is None else tuple(options.key)


def save_options(
    resource: Resource, options: LoadOptions, formats: Mapping[str, FieldFormat]
) -> None:
    """
    Save the options of a successful load for the next one: how files are read, and the types.

    The units of the ``formats``, which are by the names of fields, become members ``unit`` of the
    data dictionary.  Fields without a label, notes or a translation of them get the schema's.
    """
    units = {name: each.unit for name, each in formats.items() if each.unit}
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
            own, added = field_.translations, description.translations
            field_.translations = {
                language: {**added.get(language, {}), **own.get(language, {})}
                for language in {**own, **added}
            }
        if unit := units.get(field_.name):
            field_.extra_info = {**field_.extra_info, "unit": unit}
        if known != [getattr(field_, name) for name in names]:
            changed.append(field_)
    resource.fields.bulk_update(changed, names, batch_size=500)


def _reset_unsaved_options(options: LoadOptions) -> LoadOptions:
    return LoadOptions(**{name: getattr(options, name) for name in _SAVED})

"""How a file is to be read and what becomes of its rows: the choices that a person may make."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from ...exceptions.loads import LoadFailed
from ...models import Mode, Resource
from ..readers.options import ReadOptions
from .field_formats import parse_field_format
from .schema import parse_table_schema


class BadRowsChoice(StrEnum):
    """What becomes of a file with rows that cannot be loaded."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class LoadOptions(ReadOptions):
    """
    The choices.  What is empty is found out from the file, or is the default.

    ``types`` gives fields, by name, a type and its notation (``text``, ``date``, ``date:dmy``);
    ``saved_types`` are those that are kept, passed over where the file lacks the field; ``key``
    names the fields that no two records share (None: as the resource has it); ``date_order`` is
    ``dmy`` or ``mdy``, for fields that leave it open; ``schema`` is a Frictionless Table Schema;
    ``may_drop`` lets fields of the resource disappear, ``force`` loads a file that is the same as
    the last; ``anew`` forgets what the resource keeps.
    """

    mode: str = Mode.REPLACE.value
    types: Mapping[str, str] = field(default_factory=dict)
    saved_types: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] | None = None
    bad_rows: str = BadRowsChoice.REFUSE.value
    date_order: str = ""
    schema: Mapping[str, Any] | None = None
    may_drop: bool = False
    force: bool = False
    anew: bool = False

    def kept(self) -> dict[str, Any]:
        """Give the choices that are no defaults, as what JSON can hold."""
        plain = LoadOptions()
        said = asdict(self)
        return {name: value for name, value in said.items() if value != getattr(plain, name)}

    @classmethod
    def revived(cls, kept: Mapping[str, Any]) -> Self:
        """Give kept choices back; those that this version no longer has are forgotten."""
        known = {choice.name for choice in fields(cls)}
        found = {name: value for name, value in kept.items() if name in known}
        for name in ("key", "nulls"):
            if found.get(name) is not None:
                found[name] = tuple(found[name])
        return cls(**found)

    @property
    def requested_types(self) -> dict[str, str]:
        """
        Map fields, by name or by the header's word, to the types they are to have.

        Several, of which the first that most values fit is taken, have ``|`` between them.
        """
        return {**parse_table_schema(self.schema).types, **self.saved_types, **self.types}

    def content_options(self) -> Self:
        """Give the choices that decide what is made of a file, the types all in one place."""
        return replace(
            self,
            types={},
            saved_types={**self.saved_types, **self.types},
            may_drop=False,
            force=False,
            anew=False,
        )


#: What is said for each load anew: what becomes of the records is no property of the file, the
#: resource has its key itself, and its fields have their types.
_SAID_ANEW = ("mode", "bad_rows", "key", "types", "saved_types", "may_drop", "force", "anew")

#: The orders of day and month.
_DATE_ORDERS = ("dmy", "mdy")


def resolve_options(resource: Resource | None, options: LoadOptions) -> LoadOptions:
    """
    Say how a file is to be read: what the call says, over what the resource keeps.

    A field's type is the one that the call says, or that staff chose for the field, or that a
    schema gives.

    Raises: ``LoadFailed`` with ``option.unknown_choice``, ``option.unknown_encoding``,
    ``UnknownType``, ``InvalidSchema``.
    """
    _check(options)
    kept = _kept(None if options.anew else resource)
    chosen = {} if options.anew else _chosen(resource)
    schema = parse_table_schema(options.schema)
    said = {name: value for name, value in _reading(options).items() if value}
    return replace(
        options,
        **{**_reading(kept), **said},
        skip=kept.skip if options.skip is None else options.skip,
        key=schema.key if options.key is None else options.key,
        nulls=options.nulls or schema.nulls or kept.nulls,
        saved_types={**chosen, **options.saved_types},
    )


def save_options(resource: Resource, options: LoadOptions) -> None:
    """
    Keep the choices of a load that has succeeded for the next one: how files are read, the types.

    What a schema says of a field that nobody has described becomes its description.
    """
    lasting = replace(options, **{name: getattr(_PLAIN, name) for name in _SAID_ANEW})
    resource.options = lasting.kept()
    resource.save(update_fields=["options", "modified_at"])
    schema = parse_table_schema(options.schema)
    changed = []
    for field_ in resource.fields.all():
        before = (field_.chosen_type, field_.label, field_.notes)
        if options.anew or field_.name in options.types:
            field_.chosen_type = options.types.get(field_.name, "")
        described = schema.described.get(field_.name)
        if described:
            field_.label = field_.label or described.label
            field_.notes = field_.notes or described.notes
        if before != (field_.chosen_type, field_.label, field_.notes):
            changed.append(field_)
    resource.fields.bulk_update(changed, ["chosen_type", "label", "notes"], batch_size=500)


_PLAIN = LoadOptions()


def _kept(resource: Resource | None) -> LoadOptions:
    if resource is None:
        return _PLAIN
    kept = LoadOptions.revived(resource.options)
    return replace(kept, **{name: getattr(_PLAIN, name) for name in _SAID_ANEW})


def _chosen(resource: Resource | None) -> dict[str, str]:
    if resource is None:
        return {}
    return dict(resource.fields.exclude(chosen_type="").values_list("name", "chosen_type"))


def _reading(options: LoadOptions) -> dict[str, Any]:
    """Give the choices of which an empty one says nothing."""
    names = ("encoding", "delimiter", "sheet", "member", "date_order", "schema")
    return {name: getattr(options, name) for name in names}


def _check(options: LoadOptions) -> None:
    choices: dict[str, Sequence[str]] = {
        "mode": Mode.values,
        "bad_rows": [choice.value for choice in BadRowsChoice],
        "date_order": ["", *_DATE_ORDERS],
    }
    for name, known in choices.items():
        value = getattr(options, name)
        if value not in known:
            listed = ", ".join(choice for choice in known if choice)
            raise LoadFailed("option.unknown_choice", name=name, value=value, choices=listed)
    if options.encoding:
        try:
            codecs.lookup(options.encoding)
        except LookupError as error:
            raise LoadFailed("option.unknown_encoding", encoding=options.encoding) from error
    for name in options.types.values():
        parse_field_format(name)

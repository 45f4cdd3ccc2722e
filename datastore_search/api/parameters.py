"""
The parameters of an action: JSON, the types of values, and the table of them, a serializer.

Here is what all actions have in common; each has its own parameters beside it, in ``actions``.
``help_text`` describes each parameter in a few plain sentences, with code between backticks.
Documents, agents and the tables of the reference, which ``make reference`` writes, add its default
and limit.

Source: CKAN, sections 1, 4 and 13 of its semantics: names, forms, defaults and refusals.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from itertools import accumulate, chain
from string import whitespace
from typing import Any, ClassVar, Final, cast

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy as _
from rest_framework import serializers

from ..contributions import Contribution
from ..field_types import NotOfType, dump_json, field_types, is_storable, refuse_constant
from ..field_types.numbers import NUMBER
from ..filters import MAX_SUBSTRINGS, MAX_WORDS, MIN_SUBSTRING_LENGTH
from ..filters.names import SortKey, parse_sort_key, split_names, unquote_name
from ..messages.requests import (
    JsonTooDeep,
    MalformedJson,
    NotAnObject,
    TooManyValues,
    UnreadableText,
)
from ..messages.search import InvalidSort
from ..messages.texts import format_count
from ..search import AnswerMember
from .envelope import MAX_REPORTED_ERRORS

# JSON ---------------------------------------------------------------------------------------------

#: Of nested JSON.  Python's own limit is not much higher, and depends on its version.
MAX_JSON_DEPTH: Final = 300

#: Of JSON that is not written: all names and filters that a search may have, and room for the rest.
MAX_JSON_VALUES: Final = 25_000

#: Of one call that writes, and of its JSON.
MAX_WRITE_RECORDS: Final = 100_000
MAX_WRITTEN_VALUES: Final = 50 * MAX_WRITE_RECORDS


def parse_object(body: bytes, max_values: int = MAX_JSON_VALUES) -> dict[str, object]:
    """
    Parse the text of a JSON object, in any Unicode encoding.

    Raises: ``UnreadableText``, ``MalformedJson``, ``TooManyValues``, ``NotAnObject``.
    """
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        raise UnreadableText from None
    value = parse_json(text, max_values)
    if not isinstance(value, Mapping):
        raise NotAnObject
    return dict(value)


def parse_json(text: str, max_values: int = MAX_JSON_VALUES) -> object:
    """
    Parse a JSON text of at most ``max_values``; numbers with a fraction become ``Decimal``.

    Raises: ``MalformedJson``, also for NaN and infinities, which are not JSON; ``JsonTooDeep``;
    ``TooManyValues``.
    """
    opened = text.count("[") + text.count("{")
    if opened + text.count(",") > max_values:
        values = _keep_outside_texts(text, b",[{").replace(b'"', b"")
        if len(values) > max_values:
            raise TooManyValues(most=max_values)
    if opened > MAX_JSON_DEPTH:
        steps = array("b", _keep_outside_texts(text, b"[]{}").translate(_STEPS))
        if max(accumulate(steps), default=0) > MAX_JSON_DEPTH:
            raise JsonTooDeep(most=MAX_JSON_DEPTH)
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError) as error:
        is_number = isinstance(error, ArithmeticError) or "digits" in str(error)  # of Python's
        reason = gettext("a number has too many digits") if is_number else str(error)[:200]
        raise MalformedJson(reason=reason) from None
    except RecursionError:
        raise JsonTooDeep(most=MAX_JSON_DEPTH) from None


def _keep_outside_texts(text: str, kept: bytes) -> bytes:
    """Keep some characters of a JSON text outside of quotes, and unpaired quotes; do not parse."""
    others = bytes(set(range(256)) - set(kept) - {ord('"')})
    body = text.encode(errors="replace").replace(rb"\\", b"").replace(rb"\"", b"")
    return _STRING.sub(b"", body.translate(None, others).replace(b'""', b""))


#: A bracket as a signed byte: +1 or -1; an unpaired quote is 0.
_STEPS = bytes.maketrans(b'[{]}"', b"\x01\x01\xff\xff\x00")
_STRING = re.compile(rb'"[^"]*"')
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=refuse_constant)


# Types of values ----------------------------------------------------------------------------------

#: A JSON Schema.
Schema = dict[str, Any]

MAX_DIGITS = 40
_INTEGER = re.compile(rf"\s*[+-]?\d(_?\d){{0,{MAX_DIGITS - 1}}}\s*", re.ASCII)

#: In characters; texts other than full-text queries are names.
MAX_FULL_TEXT_LENGTH = 10_000
MAX_TEXT_LENGTH = 200

#: Of one list; no table has more fields.
MAX_NAMES = 5_000

#: Each costs the computation of a key for every match.
MAX_SORT_FIELDS = 100

#: Each alias is a row, and each index slows down every write.
MAX_ALIASES = 100
MAX_INDEXES = 100


class ParameterField(serializers.Field[Any, Any, Any, Any]):
    """A parameter for which null and an empty text mean the default."""

    default_error_messages = {"required": _("Missing value"), "invalid": _("Must be text.")}

    #: The form that programs write best, of those that are accepted, in JSON Schema.
    json_schema: Schema = {"type": "string"}
    #: The sentence about the limit of a value.
    limit_text: ClassVar[str | Promise] = ""
    #: The name under which a document describes the values; ``{name}`` is the parameter's.
    component: ClassVar[str] = ""
    #: Of a list.
    max_items: int = 0
    #: Whether a body may have the text of that form, too.
    accepts_text: ClassVar[bool] = False
    #: Whether an answer repeats a value that was sent, and does so as it was sent.
    is_repeated: bool = True
    is_repeated_as_sent: ClassVar[bool] = False

    def __init__(
        self,
        max_items: int | None = None,
        *,
        shown_default: str | int = "",
        repeated: bool = True,
        answers: AnswerMember | None = None,
        **options: Any,
    ) -> None:
        """
        ``shown_default`` is described; what runs the action applies it.

        A value that is true asks for the member that ``answers`` it; it is not ``repeated``.
        """
        if max_items:
            self.max_items = max_items
        self.shown_default = shown_default
        self.answers = answers
        self.is_repeated = self.is_repeated and repeated and answers is None
        options.setdefault("required", False)
        super().__init__(allow_null=True, **options)

    def describe(self, *, is_required: bool) -> str:
        """Describe the parameter, its default and its limit; code has backticks."""
        default = self.shown_default
        shown = format_count(default) if isinstance(default, int) else default
        choices = ", ".join(f"`{choice}`" for choice in getattr(self, "choices", ()))
        parts = (
            str(self.help_text),
            gettext("One of {choices}.").format(choices=choices) if choices else "",
            gettext("Required.") if is_required else "",
            gettext("Default: {default}.").format(default=f"`{shown}`") if shown else "",
            self.describe_limit(),
        )
        return " ".join(filter(None, parts))

    def describe_limit(self) -> str:
        most = self.get_limit()
        return "" if most is None else str(self.limit_text).format(most=format_count(most))

    def get_limit(self) -> int | None:
        """Get the limit that ``limit_text`` names; None if there is none."""
        return self.max_items or None

    def build_schema(self) -> Schema:
        return {**self.json_schema, **({"maxItems": self.max_items} if self.max_items else {})}

    def get_component(self, name: str) -> str:
        return self.component.format(name=name)

    def parse_text(self, text: str, code: str, max_values: int = MAX_JSON_VALUES) -> object:
        """Parse a JSON text; ``code`` is the error of any other."""
        try:
            return parse_json(text, max_values)
        except MalformedJson:
            self.fail(code)

    def check_list(self, data: object) -> list[Any]:
        if not isinstance(data, list):
            self.fail("invalid")
        if len(data) > self.max_items:
            self.fail("many", most=self.max_items)
        return data


class NonNegativeIntegerField(ParameterField):
    """An integer from 0, also as text, as 5.0, or as true, which is 1."""

    json_schema = {"type": "integer", "minimum": 0}
    limit_text = _("Values above {most} are treated as {most}.")
    default_error_messages = {
        "invalid": _("Invalid integer"),
        "negative": _("Must be a natural number"),
    }

    def __init__(self, *, reduced_to: Callable[[], int] | None = None, **options: Any) -> None:
        """``reduced_to`` gives the number that takes the place of a larger one."""
        self.reduced_to = reduced_to
        super().__init__(**options)

    def get_limit(self) -> int | None:
        return self.reduced_to() if self.reduced_to else None

    def to_internal_value(self, data: object) -> int | None:
        if data == "":
            return None
        if isinstance(data, str) and _INTEGER.fullmatch(data):
            data = int(data)
        if (
            isinstance(data, Decimal)
            and data.adjusted() < MAX_DIGITS
            and data == data.to_integral_value()
        ):
            data = int(data)
        if not isinstance(data, int):
            self.fail("invalid")
        if data < 0:
            self.fail("negative")
        return int(data)


class NumberField(ParameterField):
    """A number within limits, also as text; ``is_whole`` refuses others than whole numbers."""

    default_error_messages = {
        "number": _("Must be a number from {low} to {high}."),
        "integer": _("Must be a whole number from {low} to {high}."),
    }

    def __init__(self, low: str, high: str, *, is_whole: bool = False, **options: Any) -> None:
        self.low, self.high = Decimal(low), Decimal(high)
        self.kind = "integer" if is_whole else "number"
        super().__init__(**options)

    def describe_limit(self) -> str:
        return str(_("From {low} to {high}.")).format(low=self.low, high=self.high)

    def build_schema(self) -> Schema:
        return {"type": self.kind, "minimum": float(self.low), "maximum": float(self.high)}

    def to_internal_value(self, data: object) -> Decimal | int | None:
        if data == "":
            return None
        number = Decimal("NaN")
        if isinstance(data, int | Decimal) and not isinstance(data, bool):
            number = Decimal(data)
        elif isinstance(data, str) and NUMBER.fullmatch(data.strip(whitespace)):
            number = Decimal(data.strip(whitespace))
        is_within = number.is_finite() and self.low <= number <= self.high
        is_whole = is_within and number == number.to_integral_value()
        if not is_within or not (is_whole or self.kind == "number"):
            self.fail(self.kind, low=self.low, high=self.high)
        return int(number) if is_whole else number


class BooleanField(ParameterField):
    """A boolean, a number, or a text: true, yes, t, y and 1 are true, any other is false."""

    json_schema = {"type": "boolean"}

    def to_internal_value(self, data: object) -> bool | None:
        if data == "":
            return None
        if isinstance(data, str):
            return data.strip(whitespace).lower() in {"true", "yes", "t", "y", "1"}
        return bool(data) if isinstance(data, bool | int | Decimal) else False


class IgnoredField(ParameterField):
    """A parameter of CKAN that has no effect here; any value is accepted."""

    json_schema = {}
    is_repeated = False

    def to_internal_value(self, data: object) -> None:
        return None


class TextField(ParameterField):
    """A text; numbers and booleans become text."""

    default_error_messages = {"long": _("The text is longer than {most} characters.")}

    max_length = MAX_TEXT_LENGTH
    json_schema = {"type": "string", "maxLength": max_length}
    limit_text = _("At most {most} characters.")
    #: What is read as an empty text.
    empty: ClassVar[tuple[object, ...]] = ()

    def __init__(self, max_length: int | None = None, **options: Any) -> None:
        if max_length is not None:
            self.max_length = max_length
            self.json_schema = {"type": "string", "maxLength": max_length}
        super().__init__(**options)

    def get_limit(self) -> int:
        return self.max_length

    def to_internal_value(self, data: object) -> Any:
        if data in self.empty:
            return ""
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        text = str(data)
        if len(text) > self.max_length:
            self.fail("long", most=self.max_length)
        return text


class FieldNameField(ParameterField):
    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ResourceIdField(ParameterField):
    """The id, an alias or the name of a resource, as text."""

    is_repeated = False

    def to_internal_value(self, data: object) -> str | None:
        if data in ("", [], {}):
            return None
        if isinstance(data, str):
            return data
        try:
            return dump_json(data)  # type: ignore[arg-type] # JSON has nothing else
        except NotOfType:
            return "?"


class ChoiceField(ParameterField):
    default_error_messages = {"choice": _("Value must be one of {choices}")}
    component = "{name}"

    def __init__(self, choices: Collection[str], **options: Any) -> None:
        self.choices = choices
        super().__init__(**options)

    def build_schema(self) -> Schema:
        return {"type": "string", "enum": [*self.choices]}

    def to_internal_value(self, data: object) -> str | None:
        if data == "":
            return None
        if data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return str(data)


class FullTextField(TextField):
    """A full-text query; numbers and booleans become text."""

    max_length = MAX_FULL_TEXT_LENGTH
    json_schema = {"type": "string", "maxLength": max_length}
    empty: ClassVar[tuple[object, ...]] = ({}, [])
    default_error_messages = {
        "invalid": _("The full-text query must be text."),
        "long": _("The full-text query is longer than {most} characters."),
    }


class FullTextQueryField(FullTextField):
    """A full-text query, or an object, or the JSON text of one: field → full-text query."""

    json_schema = {
        "oneOf": [
            FullTextField.json_schema,
            {"type": "object", "additionalProperties": {"type": "string"}},
        ]
    }
    default_error_messages = {
        "invalid": _("The full-text query must be text, or an object: field → text.")
    }

    def to_internal_value(self, data: object) -> Any:
        if isinstance(data, str) and data.lstrip()[:1] == "{":
            with suppress(MalformedJson):
                parsed = parse_json(data)
                data = parsed if isinstance(parsed, Mapping) else data
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        if not all(isinstance(text, str) for text in data.values()):
            self.fail("invalid")
        super().to_internal_value("".join(data.values()))
        return data


class NamesField(ParameterField):
    """A list of names, or a text of names separated by commas, in double quotes where needed."""

    json_schema = {"type": "array", "items": {"type": "string"}}
    limit_text = _("At most {most} names.")
    max_items = MAX_NAMES
    default_error_messages = {
        "invalid": _("Must be a list of names, or names separated by commas."),
        "many": _("There are more than {most} names."),
    }

    def to_internal_value(self, data: object) -> tuple[str, ...]:
        return tuple(unquote_name(name) for name in self.split(data))

    def split(self, data: object) -> list[str]:
        """Split the parameter into names; too many are refused before any is checked."""
        if isinstance(data, str):
            data = split_names(data, self.max_items + 1)
        parts = self.check_list(data)
        if not all(isinstance(part, str) for part in parts):
            self.fail("invalid")
        return parts


class IndexesField(NamesField):
    """Names as ``NamesField`` reads them; CKAN's index of several fields is one of each."""

    def split(self, data: object) -> list[str]:
        if isinstance(data, list):
            lists = (part if isinstance(part, list) else [part] for part in data)
            data = list(chain.from_iterable(lists))
        return list(dict.fromkeys(super().split(data)))


class JsonNamesField(NamesField):
    """Names as ``NamesField`` reads them, or the JSON text of a list of names."""

    def split(self, data: object) -> list[str]:
        if isinstance(data, str) and data.lstrip()[:1] == "[":
            data = self.parse_text(data, "invalid")
        return super().split(data)


class SortField(NamesField):
    json_schema = {**NamesField.json_schema, "examples": [["amount desc", "code"]]}
    limit_text = _("At most {most} fields.")
    is_repeated_as_sent = True
    default_error_messages = {"fields": _("There are more than {most} fields to sort by.")}

    def get_limit(self) -> int:
        return MAX_SORT_FIELDS

    def to_internal_value(self, data: object) -> tuple[SortKey, ...]:  # type: ignore[override] # keys are read names
        keys, errors = [], []
        for part in self.split(data):
            try:
                keys.append(parse_sort_key(part))
            except InvalidSort as error:
                errors.append(str(error))
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if len({key.field for key in keys}) > MAX_SORT_FIELDS:
            self.fail("fields", most=MAX_SORT_FIELDS)
        return tuple(keys)


class JsonField(ParameterField):
    json_schema = {"type": "object"}
    #: The largest number of values in the JSON text.
    max_values = MAX_JSON_VALUES
    default_error_messages = {"json": _("Cannot parse JSON")}

    def to_internal_value(self, data: object) -> Any:
        if data in ("", {}, []):
            return None
        if isinstance(data, str):
            data = self.parse_text(data, "json", self.max_values)
        return None if data is None else self.check(data)

    def check(self, data: object) -> Any:
        return data


class FiltersField(JsonField):
    """An object, or a list of objects, or the JSON text of one."""

    default_error_messages = {"invalid": _("Filters must be an object, or a list of objects.")}
    component = "filters"

    def check(self, data: object) -> Mapping[str, object] | list[object] | None:
        if not data and not isinstance(data, bool | int | str):
            return None
        if not isinstance(data, Mapping | list):
            self.fail("invalid")
        return data


class GivenFiltersField(FiltersField):
    """Filters of records to delete: an empty object means all records, null is refused."""

    def to_internal_value(self, data: object) -> Any:
        parsed = data if data == {} else super().to_internal_value(data)
        if parsed is None:  # a text or a list that is empty, or the JSON text of null
            self.fail("invalid")
        return parsed

    def check(self, data: object) -> Mapping[str, object] | list[object] | None:
        return data if data == {} else super().check(data)

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None:
            self.fail("invalid")
        return super().validate_empty_values(data)


class ObjectsField(JsonField):
    """A list of objects, or the JSON text of one."""

    json_schema = {"type": "array", "items": {"type": "object"}}
    limit_text = _("At most {most} objects.")
    default_error_messages = {
        "invalid": _("Must be a list of objects."),
        "many": _("There are more than {most} fields."),
    }

    max_items = MAX_NAMES
    max_values = MAX_WRITTEN_VALUES

    def check(self, data: object) -> list[Mapping[str, object]]:
        objects = self.check_list(data)
        if not all(isinstance(each, Mapping) for each in objects):
            self.fail("invalid")
        return objects


class FieldsField(ObjectsField):
    json_schema = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "type": {"type": "string", "examples": [*field_types]},
                "info": {"type": "object"},
            },
        },
    }


class RecordsField(ObjectsField):
    """Records, at most ``MAX_WRITE_RECORDS`` in one call."""

    default_error_messages = {
        "many": _("There are more than {most} records. Send them in several calls.")
    }
    max_items = MAX_WRITE_RECORDS
    is_repeated = False


class ObjectField(JsonField):
    is_repeated = False
    default_error_messages = {"invalid": _("Must be an object.")}

    def check(self, data: object) -> Mapping[str, object]:
        if not isinstance(data, Mapping):
            self.fail("invalid")
        return data


# Tables of parameters -----------------------------------------------------------------------------

#: The largest limit and offset: PostgreSQL adds them, and an id, in 64 bits.
MAX_ROW_NUMBER = 2**62 - 1


class ActionParameters(serializers.Serializer[Any]):
    """The parameters of an action; one of those in ``needed`` must be sent."""

    default_error_messages = {
        "missing": _("Missing value"),
        "character": _("The text contains a character that cannot be stored."),
        "unknown": _("There is no parameter “{name}”."),
        "jsonp": _("JSONP is not supported: use CORS."),
    }

    needed: ClassVar[tuple[str, ...]] = ()
    #: Parameters whose values are checked later, one by one.
    unchecked: ClassVar[frozenset[str]] = frozenset()
    #: Whether parameters that are not declared have no effect, in place of being refused.
    accepts_others: ClassVar[bool] = False

    @classmethod
    def get_declared(cls) -> dict[str, ParameterField]:
        return cast("dict[str, ParameterField]", cls._declared_fields)

    @classmethod
    def list_required(cls) -> list[str]:
        declared = cls.get_declared().items()
        return [name for name, field in declared if field.required or cls.needed == (name,)]

    @classmethod
    def describe(cls) -> dict[str, str]:
        required = cls.list_required()
        return {
            name: field.describe(is_required=name in required)
            for name, field in cls.get_declared().items()
        }

    @classmethod
    def build_schema(
        cls,
        names: Sequence[str] = (),
        required: Sequence[str] = (),
        build: Callable[[str, ParameterField], Schema] = lambda _name, field: field.build_schema(),
    ) -> Schema:
        """
        Describe an object of parameters, of all unless some are named, in JSON Schema.

        ``build`` builds the schema of a value, of the name and the entry of the parameter.
        """
        fields, texts = cls.get_declared(), cls.describe()
        return {
            "type": "object",
            "properties": {
                name: {**build(name, fields[name]), "description": texts[name]}
                for name in names or fields
            },
            **({"required": [*required]} if required else {}),
        }

    @classmethod
    def entries(cls, **parameters: ParameterField) -> Contribution:
        enter = partial(cls.get_declared().update, parameters)
        return Contribution(cls.__name__, tuple(parameters), enter)

    @classmethod
    def repeat(cls, parsed: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
        """Repeat parameters as they were understood, or as they were sent: sort keys."""
        return {
            name: sent[name] if field.is_repeated_as_sent else parsed[name]
            for name, field in cls.get_declared().items()
            if field.is_repeated and name in parsed
        }

    @classmethod
    def parse(cls, sent: Mapping[str, object]) -> dict[str, Any]:
        """Parse the parameters that were sent; those that mean the default are left out."""
        known = frozenset(cls._declared_fields.keys() & sent.keys())
        return cast("dict[str, Any]", _get_serializer(cls, known).run_validation(sent))

    def to_internal_value(self, data: Mapping[str, object]) -> dict[str, object]:
        """Refuse unknown names and texts that cannot be stored, then parse each parameter."""
        character = [str(self.error_messages["character"])]
        checked = [name for name in data if name in self.fields and name not in self.unchecked]
        errors = {name: character for name in checked if not is_storable(data[name])}
        others = [name for name in data if name not in self.fields]
        if "callback" in others and not self.accepts_others:
            others.remove("callback")
            errors["callback"] = [str(self.error_messages["jsonp"])]
        if others and not self.accepts_others:
            message = str(self.error_messages["unknown"])
            printable = map(make_printable, others[:MAX_REPORTED_ERRORS])
            errors["__extras"] = [message.format(name=name) for name in printable]
        values: dict[str, object] = {}
        try:
            values = super().to_internal_value(
                {name: value for name, value in data.items() if name not in errors}
            )
        except serializers.ValidationError as error:
            errors = {**cast("dict[str, list[str]]", error.detail), **errors}
        for name in checked:  # a text may be JSON, with other texts in it
            sent, parsed = data[name], values.get(str(self.fields[name].source))
            if isinstance(sent, str) and parsed is not sent and not is_storable(parsed):
                errors[name] = character
        if self.needed and not [name for name in self.needed if data.get(name) not in _ABSENT]:
            errors[self.needed[0]] = [str(self.error_messages["missing"])]
        if not errors:
            required = (name for name, field in self.fields.items() if field.required)
            missing = [str(self.error_messages["missing"])]
            errors = {name: missing for name in required if values.get(name) in (None, "")}
        if errors:
            raise serializers.ValidationError(errors)
        return {name: value for name, value in values.items() if value not in (None, "")}


@lru_cache(maxsize=200)  # of 11 kB each; clients use a few combinations
def _get_serializer(kind: type[ActionParameters], sent: frozenset[str]) -> ActionParameters:
    serializer = kind()
    for name, field in list(serializer.fields.items()):
        if name not in sent and not field.required:
            serializer.fields.pop(name)
    return serializer


#: The values of a parameter that count as not sent.
_ABSENT: tuple[object, ...] = (None, "", [], {})


class ResourceParameters(ActionParameters):
    needed: ClassVar[tuple[str, ...]] = ("resource_id", "id")

    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases. Required, unless there is an"
            " `id`."
        )
    )
    id = ResourceIdField(
        help_text=_("Another name for `resource_id`; has precedence when both are given.")
    )

    @staticmethod
    def get_name(parameters: Mapping[str, Any]) -> str:
        return str(parameters.get("id") or parameters["resource_id"])


class ResourceNameParameters(ActionParameters):
    needed: ClassVar[tuple[str, ...]] = ("id",)
    accepts_others = True  # as in CKAN

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))


class GeoParameters(ActionParameters):
    """The members of the parameter ``geo``."""

    latitude = NumberField("-90", "90", required=True, help_text=_("Degrees north."))
    longitude = NumberField("-180", "180", required=True, help_text=_("Degrees east."))
    kilometers = NumberField("0.001", "20037", required=True, help_text=_("The greatest distance."))
    fields: Any = NamesField(max_items=2, help_text=_("Of latitude and longitude, or GeoJSON."))


class GeoField(ObjectField):
    """A place and a distance: an object, or its JSON text."""

    component = "{name}"

    def build_schema(self) -> Schema:
        schema = GeoParameters.build_schema(required=GeoParameters.list_required())
        return {**schema, "additionalProperties": False}

    def check(self, data: object) -> Mapping[str, object]:
        members = super().check(data)
        try:
            return GeoParameters.parse(members)
        except serializers.ValidationError as error:
            detail = cast("dict[str, list[str]]", error.detail).items()
            texts = [f"{name}: {each[0]}".removeprefix("__extras: ") for name, each in detail]
            raise serializers.ValidationError(texts) from None


class ConditionParameters(ActionParameters):
    filters = FiltersField(help_text=_("Conditions that the records meet."))
    geo = GeoField(
        help_text=_(
            "Find records within some `kilometers` of a `latitude` and a `longitude`. Without"
            " `fields`, the fields of places are found by their names."
        )
    )
    q = FullTextQueryField(
        help_text=format_lazy(
            _(
                "A full-text query: each word occurs in the record, in any field; beginnings and"
                " other forms of words count. An object searches single fields. At most {words}"
                " words together with `full_text`."
            ),
            words=MAX_WORDS,
        )
    )
    full_text = FullTextField(
        help_text=_(
            "A full-text query over all fields, in addition to a `q` that is an object; "
            "records match both. A `q` that is text then has no effect."
        )
    )
    plain = BooleanField(
        help_text=_("False reads `q` and `full_text` in PostgreSQL's query language."),
        shown_default="true",
    )
    websearch = BooleanField(
        help_text=_(
            "False reads quotation marks, `OR` and a minus in `q` and `full_text` as characters."
        ),
        shown_default="true",
    )
    substrings = BooleanField(
        help_text=format_lazy(
            _(
                "Find the words of `q` and `full_text` inside other words, too, if they have "
                "{letters} letters or more. The resource needs the index `substrings`. At "
                "most {words} words; not with `plain` false."
            ),
            letters=MIN_SUBSTRING_LENGTH,
            words=MAX_SUBSTRINGS,
        ),
        shown_default="false",
    )
    language = TextField(
        help_text=_(
            "A PostgreSQL text search configuration (`english`, `simple`) for the words of `q` and"
            " `full_text`; the resource's own if not given."
        )
    )


class QueryParameters(ConditionParameters):
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of records; all if not given. 0 gives none.")
    )
    offset = NonNegativeIntegerField(
        help_text=_("Number of matching records to skip before the first."), shown_default="0"
    )
    fields: Any = NamesField(  # DRF takes it out of the class, whose property it would hide
        help_text=_(
            "The fields to return, in this order; all if not given. A name with a comma is "
            "in double quotes."
        )
    )
    sort = SortField(
        help_text=_(
            "A key is a field, then `asc` or `desc`, then `nulls first` or `nulls last`. If not"
            " given, records come in the order of `_id`."
        )
    )
    distinct = BooleanField(
        help_text=_(
            "Return each combination of `fields` once. Without `fields`, or with `_id` among "
            "them, no records are merged."
        ),
        shown_default="false",
    )


def make_printable(text: str) -> str:
    """Shorten a text for a message, and replace characters that cannot be encoded."""
    return text[:100].encode(errors="replace").decode().replace("\0", "�")

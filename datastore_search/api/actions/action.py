"""What an action and its answer are, and the actions ``help_show`` and ``status_show``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ... import __version__
from ...conf import conf
from ...contributions import Table
from ...messages.requests import UnknownHelp
from ...web.addresses import build_site_address
from ...web.caching import Validators
from ..parameters import ActionParameters, Schema, TextField, make_printable
from ..schemas import OBJECT, TEXT, list_of, object_of, schema_ref


def write_time(moment: datetime | None) -> str | None:
    """Write a time in UTC without an offset, as CKAN does."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The result of an action.

    With ``validators`` a client may cache it.  Without them, ``public`` is true where it is the
    same for every user; None forbids caches to store it.  ``record_count`` is the number of records
    of the result.
    """

    result: Any
    public: bool | None = None
    validators: Validators | None = None
    record_count: int = 0


@dataclass(frozen=True, slots=True)
class Action:
    """
    One action; ``run`` takes the request and the parameters as they were sent.

    With ``takes_file``, a form may have a file: the parameter ``upload``.

    ``result`` is the JSON Schema of the result, any value if there is none.  ``build_schemas``
    builds the schemas that it refers to, by name, beside those of ``api.schemas``; apps may have
    added parameters by then.
    """

    name: str
    parameters: type[ActionParameters]
    run: Callable[[Request, Mapping[str, object]], Answer]
    help: str | Promise
    is_writing: bool = False
    takes_file: bool = False
    result: Schema = field(default_factory=dict)
    build_schemas: Callable[[], Mapping[str, Schema]] = dict


def build_action(
    parameters: type[ActionParameters], description: str | Promise, **more: Any
) -> Callable[[Callable[[Request, Mapping[str, object]], Answer]], Action]:
    """Build the action of a function's name, which may have an underscore before it."""
    return lambda run: Action(run.__name__.removeprefix("_"), parameters, run, description, **more)


#: All actions by name.
actions: Table[Action] = Table("actions")

# This server --------------------------------------------------------------------------------------

#: The release of CKAN whose actions these are.
CKAN_VERSION = "2.12.0"


class HelpParameters(ActionParameters):
    needed = ("name",)

    name = TextField(help_text=_("The name of an action."))


@build_action(
    HelpParameters,
    _("Describe an action."),
    result={"type": "string", "description": "What the action does."},
)
def help_show(request: Request, sent: Mapping[str, object]) -> Answer:
    name = HelpParameters.parse(sent)["name"]
    if name not in actions:
        raise UnknownHelp(action=make_printable(name))
    return Answer(str(actions[name].help), public=True)


@build_action(
    ActionParameters,
    _("Describe this server."),
    result=schema_ref("DatastoreStatus"),
    build_schemas=lambda: {"DatastoreStatus": _STATUS},
)
def status_show(request: Request, sent: Mapping[str, object]) -> Answer:
    ActionParameters.parse(sent)
    result = {
        "ckan_version": CKAN_VERSION,
        "datastore_search_version": __version__,
        "site_title": conf.SITE_TITLE,
        "site_description": conf.SITE_DESCRIPTION,
        "site_url": build_site_address(request),
        "locale_default": settings.LANGUAGE_CODE,
        "extensions": ["datastore"],
    }
    return Answer(result, public=True)


_STATUS: Schema = object_of(
    {
        "ckan_version": {**TEXT, "description": "The release of CKAN whose actions these are."},
        "datastore_search_version": TEXT,
        "site_title": TEXT,
        "site_description": TEXT,
        "site_url": {"type": "string", "format": "uri"},
        "locale_default": TEXT,
        "extensions": list_of(TEXT),
    },
    additionalProperties=OBJECT["additionalProperties"],
)

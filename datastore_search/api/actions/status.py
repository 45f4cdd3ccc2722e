"""``help_show`` and ``status_show``: the actions of this server, and its version."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ... import __version__
from ...conf import conf
from ...messages.requests import UnknownHelp
from ...web.addresses import build_site_address
from ..parameters import ActionParameters, TextField, make_printable
from ..schemas import OBJECT, TEXT, list_of, object_of, schema_ref
from .action import Action, Answer, actions

#: The release of CKAN whose actions these are.
CKAN_VERSION = "2.12.0"


class HelpParameters(ActionParameters):
    needed = ("name",)

    name = TextField(help_text=_("The name of an action."))


class StatusParameters(ActionParameters):
    """``status_show`` has none."""


def _show_help(request: Request, sent: Mapping[str, object]) -> Answer:
    name = HelpParameters.parse(sent)["name"]
    if name not in actions:
        raise UnknownHelp(action=make_printable(name))
    return Answer(str(actions[name].help), public=True)


def _show_status(request: Request, sent: Mapping[str, object]) -> Answer:
    StatusParameters.parse(sent)
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


_STATUS = object_of(
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

help_show = Action(
    name="help_show",
    parameters=HelpParameters,
    run=_show_help,
    help=_("Describe an action."),
    result={"type": "string", "description": "What the action does."},
)
status_show = Action(
    name="status_show",
    parameters=StatusParameters,
    run=_show_status,
    help=_("Describe this server."),
    result=schema_ref("DatastoreStatus"),
    build_schemas=lambda: {"DatastoreStatus": _STATUS},
)

"""
The actions of views: each is a saved question of a page, or a view of CKAN's that is only kept.

Source: CKAN's actions of these names.  It refuses members that a type of view does not have; here
no type has a plugin, so they are kept and returned.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from django.apps import apps
from django.db import connections, router
from django.db.models import Max
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

from ...api.actions.action import Answer, build_action
from ...api.authentication import authorize_read, check_may_write, get_reader
from ...api.new_resources import WordsField, copy_members
from ...api.parameters import (
    ActionParameters,
    JsonNamesField,
    ResourceIdField,
    ResourceNameParameters,
    TextField,
    make_printable,
)
from ...database.statements import RowToLock, begin_write_transaction
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...models import MAX_TITLE_LENGTH, Resource, parse_resource_id
from ...search import open_snapshot
from .models import MAX_DESCRIPTION_LENGTH, MAX_VIEWS, SavedView
from .question import MAX_QUESTION_LENGTH

#: Of PostgreSQL's integers.
MAX_POSITION = 2**31 - 1

#: The JSON of the members of a view that only its type knows.
MAX_MEMBERS_BYTES = 10_000

#: What an answer has, and a client may send back: never members of the type.
_FIXED = frozenset(
    {"id", "resource_id", "package_id", "title", "description", "view_type", "query"}
)


class UnknownView(UnknownResource):
    message = _("Not found: View “%(view)s” was not found.")


# Parameters ---------------------------------------------------------------------------------------


class ViewParameters(ActionParameters):
    needed: ClassVar[tuple[str, ...]] = ("id",)
    accepts_others = True

    id = TextField(help_text=_("The id of a view."))


class ChangedViewMembers(ViewParameters):
    title = WordsField(cut_at=MAX_TITLE_LENGTH, help_text=_("The title, cut at 300 letters."))
    description = TextField(MAX_DESCRIPTION_LENGTH, help_text=_("The description."))
    query = TextField(
        MAX_QUESTION_LENGTH,
        help_text=_(
            "The end of the address of a data page, after the question mark: what the view shows."
        ),
    )


class NewViewMembers(ChangedViewMembers):
    needed = ()

    id = TextField(help_text=_("A UUID; chosen if not given."))
    resource_id = ResourceIdField(
        required=True, help_text=_("The id, the name or an alias of a resource.")
    )
    title = WordsField(
        required=True, cut_at=MAX_TITLE_LENGTH, help_text=_("The title, cut at 300 letters.")
    )
    view_type = TextField(
        100,
        required=True,
        help_text=_(
            "A type of CKAN, such as `datatables_view`, `recline_graph_view` or"
            " `recline_map_view`; others are kept, and not shown."
        ),
    )


class OrderParameters(ResourceNameParameters):
    order = JsonNamesField(
        MAX_VIEWS,
        required=True,
        help_text=_("The ids of views, in order; the others come after them."),
    )


# Reading ------------------------------------------------------------------------------------------


@build_action(ResourceNameParameters, _("List the views of a resource, in order."))
def _resource_view_list(request: Request, sent: Mapping[str, object]) -> Answer:
    name = str(ResourceNameParameters.parse(sent)["id"])
    with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
        using = session.connection.alias
        resource = Resource.objects.using(using).named(name).first()
        package_id = _find_package_id(request, resource) if resource else None
        if resource is None or package_id is None:
            raise UnknownResource(resource=make_printable(name))
        validators = authorize_read(request, resource, name, sent)
        views = SavedView.objects.using(using).filter(resource=resource)[:MAX_VIEWS]
        return Answer([_describe(each, package_id) for each in views], validators=validators)


@build_action(ViewParameters, _("Describe a view of a resource."))
def _resource_view_show(request: Request, sent: Mapping[str, object]) -> Answer:
    name = ViewParameters.parse(sent)["id"]
    with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
        view = _find_view(name, session.connection.alias)
        package_id = _find_package_id(request, view.resource) if view else None
        if view is None or package_id is None:
            raise UnknownView(view=make_printable(name))
        validators = authorize_read(request, view.resource, name, sent)
        return Answer(_describe(view, package_id), validators=validators)


def _find_package_id(request: Request, resource: Resource) -> str | None:
    """Find the id of the dataset; None for a resource that is not shown to the user."""
    if apps.is_installed("datastore_search.contrib.catalogue"):
        from .catalogue import find_dataset_id  # noqa: PLC0415 - of an app that may be missing

        return find_dataset_id(resource, get_reader(request))
    is_shown = resource.table_version_id or resource.permits(get_reader(request), "change")
    return str(resource.pk) if is_shown else None


def _find_view(name: str, using: str) -> SavedView | None:
    views = SavedView.objects.using(using).select_related("resource")
    return views.filter(pk=view_id).first() if (view_id := parse_resource_id(name)) else None


def _describe(view: SavedView, package_id: str | None) -> dict[str, Any]:
    return {
        "id": str(view.pk),
        "resource_id": str(view.resource_id),
        "title": view.title,
        "description": view.description or None,
        "view_type": view.view_type,
        **({"query": view.query} if view.query else {}),
        **view.members,
        "package_id": package_id,
    }


# Writing ------------------------------------------------------------------------------------------


@contextmanager
def _change_views(request: Request, found: Resource | None, name: str) -> Iterator[Resource]:
    """
    Lock a resource that the user may change, until its views are changed.

    Raises: ``AccessDenied``; ``UnknownResource``.
    """
    resource = check_may_write(request, found, name)
    row = RowToLock(Resource._meta.db_table, resource.pk)
    with begin_write_transaction(connections[router.db_for_write(SavedView)], row) as is_found:
        if not is_found:
            raise UnknownResource(resource=make_printable(name))
        yield resource


@contextmanager
def _change_view(request: Request, name: str) -> Iterator[SavedView]:
    """Lock a view that the user may change.  Raises: ``AccessDenied``; ``UnknownView``."""
    using = router.db_for_write(SavedView)
    found = _find_view(name, using)
    try:
        with _change_views(request, found.resource if found else None, name):
            view = _find_view(name, using)
            if view is None:
                raise UnknownView(view=make_printable(name))
            yield view
    except UnknownResource as error:
        raise UnknownView(view=make_printable(name)) from error


@build_action(
    NewViewMembers, _("Save a view of a resource, after its other ones."), is_writing=True
)
def _resource_view_create(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = NewViewMembers.parse(sent)
    name, members = str(parsed.pop("resource_id")), copy_members(sent, _FIXED, MAX_MEMBERS_BYTES)
    with _change_views(request, Resource.objects.named(name).first(), name) as resource:
        views = SavedView.objects.filter(resource=resource)
        view_id = parse_resource_id(parsed.pop("id", "") or str(uuid.uuid4()))
        if views.count() >= MAX_VIEWS:
            message = _("A resource has at most %(most)s views.") % {"most": MAX_VIEWS}
            raise ValidationError({"resource_id": [message]})
        last = views.aggregate(last=Max("position"))["last"]
        position = 0 if last is None else min(last + 1, MAX_POSITION)  # the admin sets any
        values = {"resource": resource, "position": position, "members": members, **parsed}
        # Another request may add a view with this id, to another resource.
        made = view_id and SavedView.objects.get_or_create(pk=view_id, defaults=values)
        if not (made and made[1]):
            raise ValidationError({"id": [_("Must be a UUID that no other view has.")]})
        return Answer(_describe(made[0], _find_package_id(request, resource)))


@build_action(
    ChangedViewMembers,
    _("Change a view: other members that are not sent are emptied."),
    is_writing=True,
)
def _resource_view_update(request: Request, sent: Mapping[str, object]) -> Answer:
    """Change a view: a title and a description that are not sent stay, and so does the type."""
    parsed, members = ChangedViewMembers.parse(sent), copy_members(sent, _FIXED, MAX_MEMBERS_BYTES)
    with _change_view(request, parsed.pop("id")) as view:
        view.members, view.query = members, ""
        view.description = "" if "description" in sent else view.description
        for name, value in parsed.items():
            setattr(view, name, value)
        view.save()
        return Answer(_describe(view, _find_package_id(request, view.resource)))


@build_action(ViewParameters, _("Delete a view of a resource."), is_writing=True)
def _resource_view_delete(request: Request, sent: Mapping[str, object]) -> Answer:
    with _change_view(request, ViewParameters.parse(sent)["id"]) as view:
        view.delete()
    return Answer({"resource_id": str(view.resource_id)})


@build_action(OrderParameters, _("Change the order of the views of a resource."), is_writing=True)
def _resource_view_reorder(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = OrderParameters.parse(sent)
    name, order = str(parsed["id"]), [*parsed.get("order", ())]
    with _change_views(request, Resource.objects.named(name).first(), name) as resource:
        views = {str(view.pk): view for view in SavedView.objects.filter(resource=resource)}
        if len(order) != len({*order}):
            raise ValidationError({"order": [_("No duplicates allowed in order")]})
        if unknown := [make_printable(each) for each in order if each not in views]:
            message = _("View %(view)s does not exist") % {"view": unknown[0]}
            raise ValidationError({"order": [message]})
        ids = list(dict.fromkeys((*order, *views)))
        for position, each in enumerate(ids):
            views[each].position = position
        SavedView.objects.bulk_update(views.values(), ["position"])
    return Answer({"id": str(resource.pk), "order": ids})


view_actions = (
    _resource_view_list,
    _resource_view_show,
    _resource_view_create,
    _resource_view_update,
    _resource_view_delete,
    _resource_view_reorder,
)

"""Who may see and change a published dataset: this module alone decides."""

from __future__ import annotations

from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...api.authentication import check_may_write, get_reader
from ...api.parameters import make_printable
from ...messages.access import UnknownResource, WriteDenied
from ...messages.parameters import InvalidParameter
from ...models import Reader, Resource
from ...models.object_permissions import find_permitted, has_permission
from .models import Dataset, State, get_metadata
from .query import NOTHING

_VIEW: Final = "datastore_search_catalogue.view_dataset"


class UnknownPackage(UnknownResource):
    message = _("Not found")


class KeptDataset(InvalidParameter):
    parameter = "id"
    message = _("No client can change this dataset: it is a single resource, or the portal’s own.")


def permits_dataset(user: Reader, dataset: Dataset, verb: str) -> bool:
    """
    Return whether a user may change or delete all resources, the dataset, or each one of it.

    A role in the organization that owns a dataset is a permission for the dataset.
    """
    parts = Resource.objects.filter(dataset__part_of=dataset.pk)
    permitted = parts.permitted_to(user, verb)
    permission = f"datastore_search_catalogue.{verb}_dataset"
    if permitted.is_everything or has_permission(user, permission, dataset):
        return True
    return parts.exists() and not parts.exclude(permitted.condition).exists()


def is_visible(user: Reader, dataset: Dataset) -> bool:
    """Return whether a user may see a dataset; a deleted one if the user may change it, too."""
    parts = Resource.objects.filter(dataset__part_of=dataset.pk)
    may_read = parts.filter(parts.readable_by(user).condition).exists()
    may_change = permits_dataset(user, dataset, "change")
    may_view = dataset.is_public or may_read or has_permission(user, _VIEW, dataset)
    may_view = may_view or has_permission(user, "datastore_search.view_resource")
    return may_view and (dataset.state == State.ACTIVE or may_change)


def is_shown(resource: Resource, user: Reader) -> bool:
    """Return whether a resource is listed, or shown to a user who may change it."""
    is_listed = resource.table_version_id or get_metadata(resource).members is not None
    return bool(is_listed or resource.permits(user, "change"))


def match_private(user: Reader) -> Q:
    """Match the published datasets that are private and that a user sees without a resource."""
    private = Q(is_public=False, members__isnull=False)
    if has_permission(user, "datastore_search.view_resource"):
        return private
    # Backends are not asked for single datasets, which have few permissions but those of roles.
    permitted = find_permitted(user, [_VIEW], Dataset.objects.all(), max_checked=0)
    return private & permitted.condition if user.is_authenticated else NOTHING


def find_deleted(name: str, user: Reader, using: str) -> Dataset | None:
    """Find a deleted dataset by its id or name, for a user who may change it."""
    rows = Dataset.objects.using(using).filter(Q(pk=name) | Q(name=name), state=State.DELETED)
    found = rows.order_by("-modified_at").first()
    return found if is_visible(user, found or Dataset(pk="")) else None


def lock_changeable(
    request: Request, name: str, verb: str = "change", *, parameter: str = "id"
) -> Dataset:
    """
    Find and lock the published dataset that the user may change or delete, by its id or name.

    A dataset that does not exist is checked like a private one, so that both answers take the same
    time.

    Raises: ``UnknownPackage``, also for one that the user may not see; ``AccessDenied``;
    ``KeptDataset`` for one that is not published by a client; ``WriteBlocked``.
    """
    user = get_reader(request)
    rows = Dataset.objects.filter(Q(pk=name) | Q(name=name), resource=None)
    found = rows.order_by("state", "-modified_at").first()
    checked = found or Dataset(pk="")
    may_write, may_see = permits_dataset(user, checked, verb), is_visible(user, checked)
    if found is None or not may_see:
        resource = None if found else Resource.objects.named(name).first()
        if resource and resource.table_version_id and resource.is_readable_by(user):
            raise KeptDataset(parameter=parameter)
        raise UnknownPackage
    if not may_write:
        check_may_write(request, Resource(), name, verb)
        raise WriteDenied(user=str(user), resource=make_printable(name))
    if found.members is None:
        raise KeptDataset(parameter=parameter)
    locked = Dataset.objects.select_for_update(no_key=True).filter(pk=found.pk).first()
    if locked is None:  # another request has deleted it just now
        raise UnknownPackage
    return locked

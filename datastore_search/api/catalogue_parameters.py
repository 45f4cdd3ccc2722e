"""
The parameters of the actions of the catalogue.

Source: CKAN's actions of these names.  Parameters that have no meaning here are accepted, as
clients send them.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .parameter_types import (
    BooleanField,
    FullTextField,
    IgnoredField,
    JsonNamesField,
    NamesField,
    NonNegativeIntegerField,
    ResourceIdField,
    TextField,
)
from .parameters import ActionParameters

#: Datasets of one answer.
DEFAULT_ROWS = 10
MAX_ROWS = 1_000

#: Each facet is a statement.
MAX_FACETS = 10
DEFAULT_FACET_VALUES = 50
MAX_FACET_VALUES = 1_000

_NO_EFFECT = _("Has no effect.")
_LIMIT = _("Maximum number of results.")
_OFFSET = _("Number of results to skip.")
_ALL_FIELDS = _("Describe each one, instead of listing names; false if not given.")


class PageParameters(ActionParameters):
    """The parameters of a list that is read page by page."""

    limit = NonNegativeIntegerField(help_text=_LIMIT)
    offset = NonNegativeIntegerField(help_text=_OFFSET)


class PackageListParameters(PageParameters):
    """The parameters of ``package_list``."""

    include_private = BooleanField(
        help_text=_("Include the private datasets that the user may read; false if not given.")
    )
    include_drafts = IgnoredField(help_text=_NO_EFFECT)
    include_deleted = IgnoredField(help_text=_NO_EFFECT)


class CurrentPackagesParameters(PageParameters):
    """The parameters of ``current_package_list_with_resources``."""

    page = NonNegativeIntegerField(
        help_text=_("The number of a page of `limit` results, from 1; wins over `offset`.")
    )


class PackageShowParameters(ActionParameters):
    """The parameters of ``package_show``."""

    needed = ("id", "name_or_id")

    id = ResourceIdField(
        help_text=_(
            "The id, the name or an alias of a dataset. Required, unless there is a `name_or_id`."
        )
    )
    name_or_id = ResourceIdField(help_text=_("Another name for `id`, which wins."))
    use_default_schema = IgnoredField(help_text=_NO_EFFECT)
    include_tracking = IgnoredField(help_text=_NO_EFFECT)
    include_plugin_data = IgnoredField(help_text=_NO_EFFECT)
    # The program of ckanapi sends the same to every action that describes something.
    include_datasets = IgnoredField(help_text=_NO_EFFECT)
    include_password_hash = IgnoredField(help_text=_NO_EFFECT)
    include_users = IgnoredField(help_text=_NO_EFFECT)
    include_groups = IgnoredField(help_text=_NO_EFFECT)


class PackageSearchParameters(ActionParameters):
    """The parameters of ``package_search``."""

    q = FullTextField(
        help_text=_(
            "Words that a dataset must hold, or conditions such as `tags:water`; `*:*` matches all."
        )
    )
    fq = FullTextField(
        help_text=_("Conditions such as `+tags:water organization:(hue OR vinh) -res_format:CSV`.")
    )
    rows = NonNegativeIntegerField(
        help_text=_("Maximum number of datasets: 10 if not given, 1,000 at most.")
    )
    start = NonNegativeIntegerField(help_text=_OFFSET)
    sort = TextField(
        help_text=_(
            "Fields to sort by, each with `asc` or `desc`, separated by commas; the last modified"
            " first if not given."
        )
    )
    facet = BooleanField(help_text=_("Count the values of `facet.field`; true if not given."))
    # Names with a full stop are no names of Python.
    vars().update(
        {
            "facet.field": JsonNamesField(
                MAX_FACETS,
                source="facet_field",
                help_text=_(
                    "What to count: `tags`, `organization`, `license_id`, `res_format`. A list, or"
                    " its JSON text."
                ),
            ),
            "facet.limit": NonNegativeIntegerField(
                source="facet_limit",
                help_text=_("Maximum number of values of each facet: 50 if not given."),
            ),
            "facet.mincount": NonNegativeIntegerField(
                source="facet_mincount", help_text=_("Leave out values that fewer datasets have.")
            ),
        }
    )
    include_private = BooleanField(
        help_text=_("Include the private datasets that the user may read; false if not given.")
    )
    include_drafts = IgnoredField(help_text=_NO_EFFECT)
    include_deleted = IgnoredField(help_text=_NO_EFFECT)
    use_default_schema = IgnoredField(help_text=_NO_EFFECT)
    fl = IgnoredField(help_text=_NO_EFFECT)


class ResourceShowParameters(ActionParameters):
    """The parameters of ``resource_show``."""

    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource. Required."))
    include_tracking = IgnoredField(help_text=_NO_EFFECT)


class ResourceViewListParameters(ActionParameters):
    """The parameters of ``resource_view_list``."""

    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource. Required."))


class ResourceSearchParameters(PageParameters):
    """The parameters of ``resource_search``."""

    needed = ("query",)

    query = NamesField(
        MAX_FACETS,
        help_text=_(
            "Conditions `field:text` on `id`, `name`, `description` or `format`; a list, or a text"
            " with commas between them. Required."
        ),
    )
    order_by = TextField(help_text=_("`name`, `created` or `last_modified`."))


class OrganizationListParameters(PageParameters):
    """The parameters of ``organization_list``."""

    all_fields = BooleanField(help_text=_ALL_FIELDS)
    organizations = JsonNamesField(
        MAX_ROWS, help_text=_("Names of the ones to list; all if not given.")
    )
    sort = IgnoredField(help_text=_NO_EFFECT)
    order_by = IgnoredField(help_text=_NO_EFFECT)
    type = IgnoredField(help_text=_NO_EFFECT)
    include_dataset_count = IgnoredField(help_text=_NO_EFFECT)
    include_extras = IgnoredField(help_text=_NO_EFFECT)
    include_tags = IgnoredField(help_text=_NO_EFFECT)
    include_groups = IgnoredField(help_text=_NO_EFFECT)
    include_users = IgnoredField(help_text=_NO_EFFECT)


class OrganizationShowParameters(ActionParameters):
    """The parameters of ``organization_show``."""

    needed = ("id",)

    id = TextField(help_text=_("The id or the name of an organization. Required."))
    include_datasets = BooleanField(
        help_text=_("Give its datasets, 1,000 at most, as `packages`; false if not given.")
    )
    include_dataset_count = IgnoredField(help_text=_NO_EFFECT)
    include_extras = IgnoredField(help_text=_NO_EFFECT)
    include_users = IgnoredField(help_text=_NO_EFFECT)
    include_groups = IgnoredField(help_text=_NO_EFFECT)
    include_tags = IgnoredField(help_text=_NO_EFFECT)
    include_followers = IgnoredField(help_text=_NO_EFFECT)
    include_password_hash = IgnoredField(help_text=_NO_EFFECT)


class GroupListParameters(PageParameters):
    """The parameters of ``group_list``."""

    all_fields = BooleanField(help_text=_ALL_FIELDS)
    groups = IgnoredField(help_text=_NO_EFFECT)
    sort = IgnoredField(help_text=_NO_EFFECT)
    order_by = IgnoredField(help_text=_NO_EFFECT)
    type = IgnoredField(help_text=_NO_EFFECT)
    include_dataset_count = IgnoredField(help_text=_NO_EFFECT)
    include_extras = IgnoredField(help_text=_NO_EFFECT)


class TagListParameters(ActionParameters):
    """The parameters of ``tag_list``."""

    query = TextField(help_text=_("A text that the names of the tags must contain."))
    vocabulary_id = TextField(help_text=_("A vocabulary. There are none, so no tag is in one."))
    all_fields = BooleanField(help_text=_ALL_FIELDS)


class NoParameters(ActionParameters):
    """``license_list`` and ``site_read`` have none."""

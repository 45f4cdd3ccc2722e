"""
The parameters of the actions of the catalogue.

Source: CKAN's actions of these names.  Parameters that have no meaning here are accepted, as
clients send them.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from ...api.parameter_types import (
    BooleanField,
    FullTextField,
    IgnoredField,
    JsonNamesField,
    NamesField,
    NonNegativeIntegerField,
    ResourceIdField,
    TextField,
)
from ...api.parameters import ActionParameters

#: Datasets or organizations of one answer.  Source: the defaults of CKAN's settings
#: ``ckan.search.rows_max`` and ``ckan.group_and_organization_list_max``.
DEFAULT_ROWS = 10
MAX_ROWS = 1_000

#: Names of one answer that lists them, where CKAN has no limit; 5 MB at most.
MAX_LISTED_NAMES = 50_000

#: Each facet is a statement.
MAX_FACETS = 10
DEFAULT_FACET_VALUES = 50
MAX_FACET_VALUES = 1_000

_NO_EFFECT = _("Has no effect.")
_LIMIT = _("Maximum number of results.")
_OFFSET = _("Number of results to skip.")


def _ignore(*names: str) -> dict[str, IgnoredField]:
    return {name: IgnoredField(help_text=_NO_EFFECT) for name in names}


class PageParameters(ActionParameters):
    """The parameters of a list that is read page by page."""

    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_ROWS)
    offset = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")


class DatasetListParameters(ActionParameters):
    """The parameters that say which datasets are listed."""

    include_private = BooleanField(
        help_text=_("Include the private datasets that the user may read."), shown_default="false"
    )
    vars().update(_ignore("include_drafts", "include_deleted"))


class PackageListParameters(DatasetListParameters):
    """The parameters of ``package_list``."""

    limit = NonNegativeIntegerField(help_text=_LIMIT, reduced_to=lambda: MAX_LISTED_NAMES)
    offset = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")


class CurrentPackagesParameters(PageParameters):
    """The parameters of ``current_package_list_with_resources``."""

    page = NonNegativeIntegerField(
        help_text=_("The number of a page of `limit` results, from 1; overrides `offset`.")
    )


class ShowParameters(ActionParameters):
    """What clients, such as ckanapi's program, send to every action that describes something."""

    vars().update(_ignore("include_groups", "include_password_hash", "include_users"))


class PackageShowParameters(ShowParameters):
    """The parameters of ``package_show``."""

    needed = ("id", "name_or_id")

    id = ResourceIdField(
        help_text=_(
            "The id, the name or an alias of a dataset. Required, unless there is a `name_or_id`."
        )
    )
    name_or_id = ResourceIdField(help_text=_("Another name for `id`, which has precedence."))
    vars().update(
        _ignore("use_default_schema", "include_tracking", "include_plugin_data", "include_datasets")
    )


class PackageSearchParameters(DatasetListParameters):
    """The parameters of ``package_search``."""

    q = FullTextField(
        help_text=_(
            "Words that a dataset must contain, or conditions such as `tags:water`; `*:*` "
            "matches all."
        )
    )
    fq = FullTextField(
        help_text=_("Conditions such as `+tags:water organization:(hue OR vinh) -res_format:CSV`.")
    )
    rows = NonNegativeIntegerField(
        help_text=_("Maximum number of datasets."),
        shown_default=DEFAULT_ROWS,
        reduced_to=lambda: MAX_ROWS,
    )
    start = NonNegativeIntegerField(help_text=_OFFSET, shown_default="0")
    sort = TextField(
        help_text=_(
            "Fields to sort by, each with `asc` or `desc`, separated by commas; the last modified"
            " first if not given."
        )
    )
    facet = BooleanField(help_text=_("Count the values of `facet.field`."), shown_default="true")
    # Names with a full stop are not valid names in Python.
    vars().update(
        {
            "facet.field": JsonNamesField(
                MAX_FACETS,
                source="facet_field",
                help_text=_(
                    "What to count: `tags`, `organization`, `groups`, `license_id`,"
                    " `res_format`. A list, or its JSON text."
                ),
            ),
            "facet.limit": NonNegativeIntegerField(
                source="facet_limit",
                help_text=_("Maximum number of values of each facet."),
                shown_default=DEFAULT_FACET_VALUES,
                reduced_to=lambda: MAX_FACET_VALUES,
            ),
            "facet.mincount": NonNegativeIntegerField(
                source="facet_mincount",
                help_text=_("Leave out values that fewer datasets have."),
                shown_default="1",
            ),
        }
    )
    vars().update(_ignore("use_default_schema", "fl"))


class ResourceNameParameters(ActionParameters):
    """The parameters of an action that is about a resource."""

    needed = ("id",)

    id = ResourceIdField(help_text=_("The id, the name or an alias of a resource."))


class ResourceViewListParameters(ResourceNameParameters):
    """The parameters of ``resource_view_list``; ``limit`` of ckanapi is ignored, as in CKAN."""

    limit = IgnoredField(help_text=_NO_EFFECT)


class ResourceShowParameters(ResourceNameParameters):
    """The parameters of ``resource_show``."""

    include_tracking = IgnoredField(help_text=_NO_EFFECT)


class ResourceSearchParameters(PageParameters):
    """The parameters of ``resource_search``."""

    needed = ("query",)

    query = NamesField(
        MAX_FACETS,
        help_text=_(
            "Conditions `field:text` on `id`, `name`, `description` or `format`; a list, or a text"
            " with commas between them."
        ),
    )
    order_by = TextField(help_text=_("`name`, `created` or `last_modified`."), shown_default="name")


class GroupListParameters(PageParameters):
    """The parameters of ``group_list``."""

    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )
    vars().update(
        _ignore("sort", "order_by", "type", "groups", "include_dataset_count", "include_extras")
    )


class OrganizationListParameters(GroupListParameters):
    """The parameters of ``organization_list``."""

    organizations = JsonNamesField(MAX_ROWS, help_text=_("The names to list; all if not given."))
    vars().update(_ignore("include_tags", "include_groups", "include_users"))


class OrganizationShowParameters(ShowParameters):
    """The parameters of ``organization_show``."""

    needed = ("id",)

    id = TextField(help_text=_("The id or the name of an organization."))
    include_datasets = BooleanField(
        help_text=_("Return its datasets as `packages`, at most 1,000."), shown_default="false"
    )
    vars().update(
        _ignore("include_dataset_count", "include_extras", "include_tags", "include_followers")
    )


class TagListParameters(ActionParameters):
    """The parameters of ``tag_list``."""

    query = TextField(help_text=_("A text that the names of the tags must contain."))
    vocabulary_id = TextField(
        help_text=_("A vocabulary. There are no vocabularies, so no tag matches.")
    )
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="false"
    )


class NoParameters(ActionParameters):
    """``license_list`` and ``site_read`` have none."""

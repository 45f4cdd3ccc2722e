"""Resources that are unknown, may not be read or changed, or have lost their records."""

from django.utils.translation import gettext_lazy as _

from . import DatastoreError


class UnknownResource(DatastoreError):
    message = _("Not found: Resource “%(resource)s” was not found.")


class AccessDenied(DatastoreError):
    message = _("Access denied: user %(user)s may not read resource %(resource)s.")


class AnonymousDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private. Send an API token.")


class TokenDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private and the API token is not valid.")


class SchemeDenied(TokenDenied):
    message = _(
        "Access denied: resource %(resource)s is private and the API token is not valid. Send the"
        " token alone, without “%(scheme)s” before it."
    )


class WriteDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not change resource %(resource)s.")


class AddDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not add a resource.")


class EveryWriteDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not change any resource.")


class AnonymousWriteDenied(AccessDenied):
    message = _("Access denied: changing a resource requires an API token.")


class TokenWriteDenied(AccessDenied):
    message = _("Access denied: the API token is not valid.")


class SchemeWriteDenied(TokenWriteDenied):
    message = _(
        "Access denied: the API token is not valid. Send the token alone, without “%(scheme)s”"
        " before it."
    )


class RecordsMissing(UnknownResource):
    """There is a resource, and it was loaded, but the table of its records is not there."""

    message = _(
        "Not found: the records of resource “%(resource)s” are not in the database. Load its file"
        " again, or restore them from a backup."
    )


class RecordsIncomplete(DatastoreError):
    """The table holds fewer records than were loaded: another program removed them."""

    message = _(
        "Records of this resource are missing from the database. They must be restored, or loaded"
        " again."
    )

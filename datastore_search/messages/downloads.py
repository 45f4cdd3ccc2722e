"""Files that cannot be written."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter


class UnwritableFile(InvalidParameter):
    """The reason is the format, or its options."""

    parameter = "format"


class FormatNotInstalled(UnwritableFile):
    message = _("This portal cannot write %(format)s: its administrator must install %(package)s.")


class NoHeaderRow(InvalidParameter):
    parameter = "headers"
    message = _("%(format)s has no header row. Leave “headers” out, or ask for another format.")


class FileTooSlow(UnwritableFile):
    message = _(
        "Writing the file takes more than %(seconds)s seconds. Ask for fewer records or "
        "fields, or for CSV."
    )

"""Files that cannot be written."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter


class UnwritableFile(InvalidParameter):
    """The reason is the format, or its options."""

    parameter = "format"


class FormatNotInstalled(UnwritableFile):
    message = _("This portal cannot write %(format)s: its operator must install %(package)s.")


class NoHeaderRow(InvalidParameter):
    parameter = "headers"
    message = _("%(format)s has no header row. Leave “headers” out, or ask for another format.")


class TooManyRowsForWorkbook(UnwritableFile):
    message = _(
        "An Excel sheet has at most %(most)s rows, and %(count)s records were found. Ask for "
        "fewer records, or for CSV."
    )


class TooManyColumnsForWorkbook(UnwritableFile):
    message = _("An Excel sheet has at most %(most)s columns. Ask for fewer fields, or for CSV.")


class FileTooLarge(UnwritableFile):
    message = _(
        "The file would take more than %(most)s bytes of disk. Ask for fewer records or fields, or"
        " for CSV."
    )


class FileTooSlow(UnwritableFile):
    message = _(
        "Writing the file takes more than %(seconds)s seconds. Ask for fewer records or "
        "fields, or for CSV."
    )


class NoPlaces(UnwritableFile):
    message = _(
        "GeoJSON needs a field with GeoJSON, or two fields with degrees of latitude and longitude."
        " Name them with “geometry”, or with “lat” and “lon”."
    )


class UnsuitablePlaceField(InvalidParameter):
    message = _(
        "Field “%(field)s” is of type %(type)s. Degrees are numbers, and a geometry is JSON or"
        " text."
    )

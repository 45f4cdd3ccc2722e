"""Parameters of facets and aggregates that cannot be used."""

from django.utils.translation import gettext_lazy as _

from ...messages.availability import TemporarilyUnavailable
from ...messages.parameters import InvalidParameter


class UngroupableField(InvalidParameter):
    message = _("Field “%(field)s” has type %(type)s. Records cannot be grouped by it.")


class UnsupportedOption(InvalidParameter):
    message = _("Field “%(field)s” has type %(type)s, which does not support “%(option)s”.")


class UnknownTimeZone(InvalidParameter):
    message = _("PostgreSQL has no time zone “%(time_zone)s”.")


class RepeatedColumnName(InvalidParameter):
    message = _("Two columns have the name “%(name)s”. Give one of them another name with “as”.")


class ReservedColumnName(InvalidParameter):
    parameter = "metrics"
    message = _("“%(name)s” is the key of records, and no other column can have this name.")


class NumbersTooLarge(InvalidParameter):
    parameter = "metrics"
    message = _("The numbers are too large to calculate with.")


class UnknownGroupColumn(InvalidParameter):
    parameter = "compare"
    message = _("“%(name)s” is not a column of “group_by”. Its columns: %(known)s.")


class InvalidPeriod(InvalidParameter):
    parameter = "compare"
    message = _(
        "“%(value)s” is not a period of the interval “%(interval)s”. Write it like %(example)s."
    )


class TooManyGroups(InvalidParameter):
    parameter = "group_by"
    message = _(
        "There are more than %(most)s groups. Group by longer steps or another field, or ask for"
        " fewer records."
    )


class TooManyValuesToSort(InvalidParameter):
    message = _(
        "Field “%(field)s” has more than %(most)s different values, which cannot be sorted as this"
        " database sorts texts."
    )


class InvalidHaving(InvalidParameter):
    """A condition on groups does not fit; ``error`` is what a condition on records would raise."""

    parameter = "having"
    message = "%(error)s"


class NothingToSuggest(InvalidParameter):
    parameter = "field"
    message = _("Give a field, or a full-text query.")


class UnsuggestableField(InvalidParameter):
    parameter = "field"
    message = _(
        "Field “%(field)s” has type %(type)s. Its values cannot be found by their beginning."
    )


class TooManyChartGroups(InvalidParameter):
    message = _(
        "There are too many groups for a chart. Choose longer steps or another field, or ask for"
        " fewer records."
    )


class InvalidChartChoice(InvalidParameter):
    message = _("This chart cannot have %(name)s=%(value)s. Possible: %(known)s.")


class HighlightInText(InvalidParameter):
    parameter = "highlight"
    message = _("Highlights need the “records_format” objects or lists.")


class HighlightTooLarge(InvalidParameter):
    parameter = "highlight"
    message = _("Highlights are given for at most %(most)s records. Lower the “limit”.")


class SnapshotBeingPrepared(TemporarilyUnavailable):
    wait = 10
    message = _("The table is being prepared for this question. Try again in a moment.")

"""Parameters of a search, or of a file of its records, that cannot be used."""

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter


class AnswerTooLarge(InvalidParameter):
    parameter = "limit"
    message = _(
        "The answer would have more than %(most)s bytes. Ask for fewer records or fields, or for"
        " the dump."
    )


class InvalidFilters(InvalidParameter):
    parameter = "filters"


class InvalidFilterValue(InvalidFilters):
    message = _("Field “%(field)s” has type %(type)s and cannot equal %(value)s.")


class InvalidFilterOperand(InvalidFilters):
    message = _("Operator “%(operator)s” on field “%(field)s” has an invalid operand.")


class UnsupportedOperator(InvalidFilters):
    message = _(
        "Field “%(field)s” has type %(type)s, which does not support operator “%(operator)s”."
    )


class UnknownOperator(InvalidFilters):
    message = _(
        "Unknown operator “%(operator)s” on field “%(field)s”. Known operators: %(operators)s."
    )


class UnknownGroup(InvalidFilters):
    message = _(
        "Unknown group “%(group)s”. Known groups: $and, $or. Write a field’s leading $ as $$."
    )


class FiltersNotAnObject(InvalidFilters):
    message = _("Filters must be an object, or a list of objects.")


class EmptyCondition(InvalidFilters):
    message = _("A condition must not be empty.")


class FiltersTooMany(InvalidFilters):
    message = _("Maximum number of filter operations exceeded: %(most)s")


class FiltersTooDeep(InvalidFilters):
    message = _("Maximum nesting depth for filter operations reached: %(most)s")


class TooManyFilterValues(InvalidFilters):
    message = _("The lists of filters have more than %(most)s values in all.")


class TooManyTextConditions(InvalidFilters):
    message = _("Filters have more than %(most)s conditions with the operators %(operators)s.")


class UnsuitablePlaceField(InvalidParameter):
    message = _(
        "Field “%(field)s” is of type %(type)s. Degrees are numbers, and a geometry is JSON or"
        " text."
    )


class NoPlaceFields(InvalidParameter):
    parameter = "geo"
    message = _(
        "No fields have names of places. Name them with “fields”: latitude and longitude, or one"
        " with GeoJSON."
    )


class InvalidSort(InvalidParameter):
    parameter = "sort"
    message = _(
        "“%(key)s” is not a sort key: a field, then asc or desc, then nulls first or nulls last."
    )


class UnsortableField(InvalidParameter):
    parameter = "sort"
    message = _("Field “%(field)s” has type %(type)s. Records cannot be sorted by it.")


class SortOutsideFields(InvalidParameter):
    parameter = "sort"
    message = _(
        "With “distinct”, records can be sorted by “%(field)s” only if it is among “fields”."
    )


class InvalidFullTextQuery(InvalidParameter):
    parameter = "q"
    message = _(
        "The full-text query cannot be understood in PostgreSQL’s query language. Join words by"
        " “&” (and), “|” (or) or “<->” (followed by); with “plain” true, blanks are enough, and a"
        " phrase is written in quotation marks."
    )


class TooManyWords(InvalidParameter):
    parameter = "q"
    message = _("The full-text query has more than %(most)s words.")


class TooManyFullTextFields(InvalidParameter):
    parameter = "q"
    message = _("The full-text query names more than %(most)s fields.")


class SubstringsNotIndexed(InvalidParameter):
    parameter = "substrings"
    message = _(
        "The resource has no substring index. Its managers can choose that index, and load "
        "the records again."
    )


class SubstringsNotPlain(InvalidParameter):
    parameter = "substrings"
    message = _("“substrings” cannot be used with “plain” false.")


class SubstringsNotSupported(InvalidParameter):
    parameter = "index_substrings"
    message = _(
        "This database cannot index substrings: its administrator must create PostgreSQL’s"
        " extension pg_trgm first."
    )


class UnknownLanguage(InvalidParameter):
    parameter = "language"
    message = _("PostgreSQL has no text search configuration “%(language)s”.")


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

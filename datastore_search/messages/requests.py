"""Requests that cannot be read, or ask for something that does not exist."""

from django.utils.translation import gettext_lazy as _

from . import DatastoreError


class BadRequest(DatastoreError):
    """The request cannot be read at all."""


class MalformedJson(BadRequest):
    message = _("The request's body is not valid JSON: %(reason)s")


class JsonTooDeep(MalformedJson):
    message = _("The JSON is nested too deeply: at most %(most)s levels are read.")


class NotAnObject(BadRequest):
    message = _("The request's body must be a JSON object.")


class UnreadableText(BadRequest):
    message = _("The request's body is not text in a known Unicode encoding.")


class InvalidContentLength(BadRequest):
    message = _("The header “Content-Length” is not a number.")


class FormBrokenOff(BadRequest):
    message = _("The form ends before its last part is complete.")


class FormWithoutBoundary(BadRequest):
    message = _(
        "The form cannot be read. The header “Content-Type” needs the boundary of its parts: let"
        " your program set it."
    )


class FormTooSlow(BadRequest):
    message = _("The form did not arrive within %(minutes)s minutes.")


class TooManyParameters(BadRequest):
    message = _("The request has more than %(most)s parameters.")


class UnknownAction(BadRequest):
    message = _("There is no action “%(action)s”. There are: %(actions)s.")


class WritingByGet(BadRequest):
    message = _("Action “%(action)s” changes data: send it by POST.")


class RequestTooLarge(DatastoreError):
    message = _("The request's body is larger than %(most)s bytes.")


class TooManyValues(RequestTooLarge):
    message = _("The JSON has more than %(most)s values.")


class QueryStringTooLong(RequestTooLarge):
    message = _("The query string is longer than %(most)s bytes. Send the parameters by POST.")


class UnsupportedContentType(DatastoreError):
    message = _("The content type “%(kind)s” is not supported. Send JSON or a form.")


class FormByGet(UnsupportedContentType):
    message = _("A form is read by POST only. Send the parameters by POST, or in the address.")


class UnsupportedContentEncoding(UnsupportedContentType):
    message = _(
        "The content encoding “%(encoding)s” is not supported. Send the body without compression."
    )


class UnknownAddress(DatastoreError):
    message = _("Not found: there is nothing at this address. Actions are below “%(path)s”.")


class TrailingSlash(UnknownAddress):
    message = _("Not found. Remove the slash at the end of the address.")


class UnknownHelp(DatastoreError):
    message = _("Not found: there is no action “%(action)s”.")


class UnknownRecord(DatastoreError):
    message = _("There is no such record. It may have been removed.")


class UnknownPage(DatastoreError):
    message = _("There is no page “%(page)s”.")

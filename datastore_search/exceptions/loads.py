"""Why a file cannot be loaded, why one of its rows cannot, and what is worth knowing otherwise."""

from __future__ import annotations

from typing import Any, Self, cast

from django.utils.translation import gettext_lazy as _

from ..messages import Message
from . import DatastoreError


class LoadFailed(DatastoreError):
    """
    A file cannot be loaded; nothing has changed.

    A load keeps its failure as data, so that each reader is told in their own language.
    """

    @classmethod
    def revived(cls, kept: dict[str, Any]) -> Self:
        """Give a kept failure back; one that this version no longer has is ``LoadBroken``."""
        return super().revived(kept) or cast(Self, LoadBroken())


class EmptyFile(LoadFailed):
    message = _("The file is empty.")


class BinaryFile(LoadFailed):
    message = _("The file is neither text nor of a format that can be read.")


class OtherFormat(LoadFailed):
    message = _("The file is of the format %(format)s, which cannot be read as a table.")


class UnknownEncoding(LoadFailed):
    message = _("The file's character encoding was not recognised.")


class BrokenUtf8(LoadFailed):
    message = _(
        "The file is in UTF-8, but line %(line)s has characters that are not: they were damaged"
        " before. Correct them, or choose the encoding."
    )


class OtherEncoding(LoadFailed):
    message = _("The file is not in “%(encoding)s”, the character encoding that was chosen.")


class UnknownDialect(LoadFailed):
    message = _(
        "How the file separates its cells was not recognised. Is a quotation mark left open?"
    )


class UnusableDelimiter(LoadFailed):
    message = _("“%(delimiter)s” cannot separate cells: give a character, or “tab”.")


class NothingBelow(LoadFailed):
    message = _("The file has no row below the lines that are to be skipped: %(count)s.")


class TooManyFields(LoadFailed):
    message = _("The file has %(count)s fields; at most %(most)s can be stored.")


class UnknownTypeField(LoadFailed):
    message = _("A type is given for “%(field)s”, which is not a field of the file.")


class UnknownType(LoadFailed):
    message = _("There is no field type “%(type)s”. Choose one of: %(types)s.")


class UnknownChoice(LoadFailed):
    message = _("“%(value)s” is not known as “%(name)s”. Choose one of: %(choices)s.")


class UnknownEncodingName(LoadFailed):
    message = _("There is no character encoding “%(encoding)s”.")


class UnusableSchema(LoadFailed):
    message = _("The table schema cannot be used: %(reason)s")


class UnstorableRecord(LoadFailed):
    message = _("Line %(row)s holds a value that PostgreSQL cannot store.")


class LoadInterrupted(LoadFailed):
    message = _("The load was interrupted: the process that ran it is gone.")


class DatabaseGone(LoadFailed):
    message = _(
        "The connection to the database was lost. Nothing has changed; load the file again."
    )


class FileGone(LoadFailed):
    message = _("The file is not there any more, or not where the load can read it.")


class TurnNotReached(LoadFailed):
    message = _(
        "Another load of this resource did not end within %(minutes)s minutes. If none is running, "
        "the sessions %(sessions)s of PostgreSQL hold its lock: end them, and retry."
    )


class NotQueued(LoadFailed):
    message = _("The load could not be queued; the server's log says more.")


class NothingToRetry(LoadFailed):
    message = _("The load cannot be retried: it is not over, or its file is not kept any more.")


class LoadBroken(LoadFailed):
    message = _("The load failed for an unexpected reason; the server's log says more.")


class ResourceGone(LoadFailed):
    message = _("The resource was deleted while the file was being loaded.")


class LoadCancelled(LoadFailed):
    message = _("The load was cancelled.")


class BadRows(LoadFailed):
    """Rows that cannot be loaded, where the choice is to refuse them; the report lists them."""

    message = _(
        "Rows that cannot be loaded: %(count)s. The first is line %(line)s, field “%(field)s”, "
        "value “%(value)s”: %(reason)s"
    )


class FieldsMissing(LoadFailed):
    """Fields that the resource has are not in the file, and nobody has said that they may go."""

    message = _(
        "The file lacks fields of the resource: %(fields)s. If they may go, tick “Fields may"
        " disappear” in the admin, or give the command --drop-missing-fields."
    )


class KeyFieldMissing(LoadFailed):
    message = _("The file has no field “%(field)s”, which is in the key.")


class KeyOfTooManyFields(LoadFailed):
    message = _("A key has at most %(most)s fields.")


class NoKeyToUpdateBy(LoadFailed):
    message = _(
        "Records are updated by a key, and the resource has none: name the fields of the key."
    )


class OtherKey(LoadFailed):
    """Another key is for a new table: to drop the old one's index, readers would have to wait."""

    message = _(
        "The key of the resource is %(fields)s. Only a load that replaces the records can change"
        " it."
    )


class KeyRepeated(LoadFailed):
    """Records that are there already, or values that only PostgreSQL takes for the same."""

    message = _("Some records have the same values in the fields of the key: %(fields)s.")


class ResourceChanged(LoadFailed):
    message = _(
        "The fields of the resource changed while the file was being loaded. Load it once more."
    )


# Fetching ---------------------------------------------------------------------------------------


class NotModified(Exception):
    """The server says that the file is still the one of the last time; no failure."""


class InvalidAddress(LoadFailed):
    message = _(
        "“%(address)s” is not the address of a file: it must begin with http:// or https:// and"
        " name a server."
    )


class NamedUser(LoadFailed):
    """The address is kept and shown, and a password with it would be."""

    message = _("The address must not hold a user name or password.")


class UnknownServer(LoadFailed):
    """No such name, no public address, no connection: nobody learns which of them it is."""

    message = _("There is no server “%(server)s” on the public internet that can be reached.")


class UntrustedServer(LoadFailed):
    message = _(
        "The certificate of the server “%(server)s” is not valid, or nobody vouches for it."
    )


class ServerSilent(LoadFailed):
    message = _("The server was silent for more than %(seconds)s seconds.")


class FetchTooSlow(LoadFailed):
    message = _("The file was not there within %(minutes)s minutes.")


class TooManyRedirects(LoadFailed):
    message = _("The address leads on to others more than %(most)s times.")


class RefusedFile(LoadFailed):
    message = _("The server does not hand the file out: it answers with status %(status)s.")


class BrokenAnswer(LoadFailed):
    message = _("The server's answer broke off, or is not what HTTP allows.")


class WebPage(LoadFailed):
    message = _(
        "The address leads to a page for people, perhaps one to sign in, and not to a file."
    )


class FetchedTooLarge(LoadFailed):
    message = _("The file is larger than %(most)s bytes, which is the most that is fetched.")


class NoRoom(LoadFailed):
    message = _("The server of the portal has no room left for the file.")


class NoMemory(LoadFailed):
    message = _("The file needs more memory than a load may take.")


class ReadingTooLong(LoadFailed):
    message = _(
        "Reading the file takes too long. Save it in a simpler form, such as CSV, or in several"
        " files."
    )


class ReaderBroken(LoadFailed):
    message = _(
        "The file cannot be read: the program that reads such files broke down. The file may be"
        " damaged; save it anew, or as CSV."
    )


# Archives ---------------------------------------------------------------------------------------


class DamagedArchive(LoadFailed):
    message = _("The archive is damaged and cannot be unpacked.")


class TruncatedArchive(LoadFailed):
    message = _("The compressed file ends too early: a part of it is missing.")


class EncryptedArchive(LoadFailed):
    message = _("“%(member)s” in the archive is protected by a password.")


class UnknownCompression(LoadFailed):
    message = _("“%(member)s” in the archive is compressed in a way that cannot be unpacked.")


class EmptyArchive(LoadFailed):
    message = _("There is no file in the archive.")


class SeveralMembers(LoadFailed):
    message = _("The archive holds several files: choose one of them. There are: %(members)s.")


class UnknownMember(LoadFailed):
    message = _("The archive holds no file “%(member)s”. There are: %(members)s.")


class TooManyMembers(LoadFailed):
    message = _("The archive holds more files than can be looked through.")


class NestedArchive(LoadFailed):
    message = _("There is an archive within the archive: unpack it, and load what is in it.")


class UnpackedTooLarge(LoadFailed):
    message = _("The unpacked file has more than %(most)s bytes, which is the most that is read.")


class SuspiciousArchive(LoadFailed):
    message = _(
        "The file would be more than %(ratio)s times as large when unpacked: it is taken for an"
        " attack."
    )


# Sheets -----------------------------------------------------------------------------------------


class NotAWorkbook(LoadFailed):
    message = _("The file is no workbook that can be read: neither Excel's nor OpenDocument's.")


class EncryptedWorkbook(LoadFailed):
    message = _("The workbook is protected by a password. Save it without one.")


class DamagedWorkbook(LoadFailed):
    message = _("The workbook is damaged or incomplete.")


class NoSheet(LoadFailed):
    message = _("The workbook has no sheet “%(sheet)s”. It has: %(sheets)s.")


class EmptySheet(LoadFailed):
    message = _("The sheet “%(sheet)s” has no cells.")


class EmptyWorkbook(LoadFailed):
    message = _("No sheet of the workbook has cells.")


class SheetTooLarge(LoadFailed):
    message = _(
        "The sheet spans more than %(most)s cells; save it as CSV, or remove stray cells far to the"
        " right or below."
    )


class WorkbookTooLarge(LoadFailed):
    message = _("The workbook takes more than %(most)s MB when unpacked; save the sheet as CSV.")


# JSON -------------------------------------------------------------------------------------------


class BrokenJson(LoadFailed):
    message = _("The file is no valid JSON: see line %(line)s, letter %(letter)s.")


class JsonBrokenOff(LoadFailed):
    message = _("The file ends in the middle of its JSON.")


class LongValue(LoadFailed):
    message = _("A value of the JSON, from line %(line)s on, is longer than %(most)s MB.")


class NestedTooDeep(LoadFailed):
    message = _("The JSON nests lists and objects more than %(most)s deep.")


class NoList(LoadFailed):
    message = _("The JSON holds no list of objects, or of rows, to make records of.")


class SeveralLists(LoadFailed):
    message = _(
        "The JSON holds several lists: %(paths)s. Which one has the records is not clear; save it"
        " alone."
    )


class NoRecords(LoadFailed):
    message = _("The JSON's list holds no object with members, and no row, to make records of.")


# Parquet ----------------------------------------------------------------------------------------


class UnreadableParquet(LoadFailed):
    message = _("The Parquet file is damaged or incomplete.")


class EncryptedParquet(LoadFailed):
    message = _("The Parquet file is encrypted.")


class MemoryTooSmall(LoadFailed):
    message = _(
        "The file needs more memory than a load may take. Save it with smaller groups of rows, or"
        " as CSV."
    )


# Rows -------------------------------------------------------------------------------------------


class BadRow(Message):
    """Why a row cannot be loaded."""


class RaggedRow(BadRow):
    message = _("The row has %(cells)s cells; the header has %(header)s.")


class OpenQuote(BadRow):
    message = _("A quotation mark is opened and never closed.")


class StrayQuote(BadRow):
    message = _("Text follows a closing quotation mark; one within a text must be doubled.")


class UnfitValue(BadRow):
    message = _("The value is not of type %(type)s.")


class EmptyKey(BadRow):
    message = _("A field of the key is empty.")


class RepeatedKey(BadRow):
    message = _("The key is that of line %(line)s, too.")


class TakenKey(BadRow):
    message = _("There is a record with this key already.")


class LongKey(BadRow):
    message = _("The key has %(count)s bytes; at most %(most)s can be indexed.")


class LongNumber(BadRow):
    message = _(
        "The value has numbers with exponents that are too long when they are written out; each may"
        " have %(most)s digits."
    )


class RefusedByDatabase(BadRow):
    """What PostgreSQL's JSON does not take: the character U+0000, numbers beyond its own."""

    message = _("The value cannot be stored: it holds the character U+0000, or no JSON.")


class LongRow(BadRow):
    message = _("The row is longer than %(most)s MB.")


class NotUtf8(BadRow):
    message = _("The text holds bytes that are not UTF-8.")


class ErrorCell(BadRow):
    message = _(
        "The cell holds an error. List “%(error)s” among the texts that mean nothing, or mend it."
    )


class NotJson(BadRow):
    message = _("The line is no JSON.")


class NotAnObject(BadRow):
    message = _("It is no object, as the others are.")


class NotARow(BadRow):
    message = _("It is no list of cells, as the others are.")


class RepeatedMember(BadRow):
    message = _("The member “%(member)s” is there twice in one object.")


class TooDeep(BadRow):
    message = _("It nests lists and objects more than %(most)s deep.")


# What is worth knowing --------------------------------------------------------------------------


class Remark(Message):
    """What a person should know of how a file was understood; nothing is wrong."""


class FieldsAdded(Remark):
    message = _("New fields: %(fields)s.")


class FieldsDropped(Remark):
    message = _("Fields that are gone: %(fields)s.")


class FieldsEmpty(Remark):
    message = _("Fields that the file does not have, empty in the new records: %(fields)s.")


class FieldRetyped(Remark):
    message = _("Field “%(field)s” was of type %(before)s, and is of type %(type)s now.")


class TypeKept(Remark):
    """Records that are there have the type; only a load that replaces them can change it."""

    message = _("Field “%(field)s” keeps its type %(type)s, though %(chosen)s was chosen.")


class KeyForgotten(Remark):
    message = _("The key is gone, since the file lacks fields of it: %(fields)s.")


class RowsLeftOut(Remark):
    message = _("Rows that could not be loaded and were left out: %(count)s.")


class ReportCut(Remark):
    message = _("The report lists the first %(listed)s faults of %(count)s.")


class RecordsMerged(Remark):
    message = _("Records added: %(added)s; changed: %(changed)s; the same as before: %(same)s.")


# Notations, and why a field has its type ----------------------------------------------------------


class Notation(Message):
    """How the values of a type are written, for people."""


class DayFirst(Notation):
    message = _("%(type)s, day first")


class MonthFirst(Notation):
    message = _("%(type)s, month first")


class YearFirst(Notation):
    message = _("%(type)s, year first")


class DecimalPoint(Notation):
    message = _("%(type)s, thousands set apart, decimal point")


class DecimalComma(Notation):
    message = _("%(type)s, thousands set apart or not, decimal comma")


class SpacedThousands(Notation):
    message = _("%(type)s, thousands set apart by a blank or an apostrophe")


class TruthWords(Notation):
    message = _("%(type)s, in words of its own (%(name)s)")


class Words(Message):
    """What values look like, as people call it."""


class Numbers(Words):
    message = _("numbers")


class Dates(Words):
    message = _("dates")


class Moments(Words):
    message = _("dates with a time")


class Times(Words):
    message = _("times")


class AmbiguousDates(Remark):
    message = _(
        "Field “%(field)s” stays text: it cannot be told whether the day or the month comes first, "
        "as in “%(value)s”. Choose %(one)s or %(other)s."
    )


class AmbiguousNumbers(Remark):
    message = _(
        "Field “%(field)s” stays text: the comma may set apart thousands or decimals, as in "
        "“%(value)s”. Choose %(one)s or %(other)s."
    )


class MaybeThousands(Remark):
    message = _(
        "Field “%(field)s” is read with a decimal point: “%(value)s”. If the point sets apart "
        "thousands, choose %(other)s."
    )


class GroupedCodes(Remark):
    message = _(
        "Field “%(field)s” stays text: figures in groups, all equally long, such as “%(value)s”, "
        "are taken for codes. If they are numbers, choose %(other)s."
    )


class TypeNotApplied(Remark):
    message = _("The type kept for “%(field)s” was not applied: the file has no such field.")


class SchemaNotHeld(Remark):
    message = _("The schema says more than is kept or checked: %(names)s.")


class FieldNotHeld(Remark):
    message = _("The schema says more than is kept or checked: %(names)s (field “%(field)s”).")


class FormatNotHeld(Remark):
    message = _(
        "The schema’s type %(type)s with the format %(format)s cannot be held: the values of "
        "“%(field)s” decide."
    )


class NearlyAll(Remark):
    message = _(
        "text: all values look like %(type)s, but %(count)s of %(total)s, the first in line "
        "%(line)s: “%(value)s”"
    )


class MixedNotations(Remark):
    message = _(
        "text: the values look like %(type)s, but are not all written in one way, and could not be "
        "given back as they are"
    )


class LeadingZeros(Remark):
    message = _(
        "text: numbers would lose the zeros that values begin with, first in line %(line)s: "
        "“%(value)s”"
    )


class LeadingPlus(Remark):
    message = _(
        "text: numbers would lose the sign that values begin with, first in line %(line)s: "
        "“%(value)s”"
    )


class LongNumbers(Remark):
    message = _(
        "text: whole numbers of more than 18 digits are taken for codes, first in line %(line)s: "
        "“%(value)s”"
    )


class Exponents(Remark):
    message = _(
        "text: numbers would lose how values are written, first in line %(line)s: “%(value)s”"
    )


class TwoDigitYears(Remark):
    message = _("text: years of two digits are never guessed, as in line %(line)s: “%(value)s”")


class NoValues(Remark):
    message = _("text: the field has no values")


class ChosenType(Remark):
    message = _("%(type)s: chosen")


class ToldType(Remark):
    message = _("%(type)s: the file says so")


class DecidedByOrder(Remark):
    message = _("%(type)s: the order of dates was chosen; the values leave it open")


class EveryValue(Remark):
    message = _("%(type)s: every value says so")


class SheetChosen(Remark):
    message = _("Read the sheet “%(sheet)s”. Others with cells: %(others)s.")


class GuessedEncoding(Remark):
    message = _("The file does not say its character encoding: it was read as %(encoding)s.")


class LinesAbove(Remark):
    message = _("The header was found on line %(line)s; what stands above it was left out.")


class EmptyColumns(Remark):
    message = _("Columns at the end without a name and without a value were left out: %(count)s.")


class NamesMissing(Remark):
    message = _("Fields without a name were named by their place: %(fields)s.")


class NamesRepeated(Remark):
    message = _("Names that were there already got a number: %(fields)s.")


class NamesTaken(Remark):
    message = _("“_id” is the number of a record, so the field is called “%(fields)s”.")


class NamesTidied(Remark):
    message = _("Line breaks and unusual blanks were taken out of names: %(fields)s.")


class NamesShortened(Remark):
    message = _("Names of more than %(most)s characters were shortened: %(fields)s.")


class RowsAbove(Remark):
    message = _("The header was found in row %(row)s; what stands above it was left out.")


class MergedCells(Remark):
    message = _(
        "Merged cells in the table: %(count)s. The value is in the first cell of each, the others"
        " are empty."
    )


class ListWithin(Remark):
    message = _("The records are the list “%(path)s” of the file.")


class UnnamedFields(Remark):
    message = _("The first row has values that are no names, so it was read as a record.")


class NumbersThatAreNone(Remark):
    message = _("The file holds NaN or Infinity, which JSON has not; they are kept as such.")


class BinaryValues(Remark):
    message = _("The field “%(field)s” holds bytes that are no text; they are written in hex.")

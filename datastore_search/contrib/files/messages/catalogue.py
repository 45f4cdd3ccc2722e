"""Every message of loads by its stable code, translated when it is read."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TEMPLATES: Mapping[str, str | Promise] = {
    # Files ----------------------------------------------------------------------------------------
    "file.empty": _("The file is empty."),
    "file.long_rows": _(
        "The rows from line %(line)s on are too long: consecutive rows have %(size)s MB, "
        "which needs more memory than a load may use. Shorten their values, such as "
        "geometries with many points."
    ),
    "file.binary": _("The file is neither text nor of a format that can be read."),
    "file.nul": _(
        "Line %(line)s of the file contains the character NUL (U+0000): the file is damaged, or is"
        " not text."
    ),
    "file.pointer": _(
        "The file is only a pointer (%(format)s) to the file with the data. Download that file,"
        " and load it."
    ),
    "file.unsupported_format": _(
        "The file is of the format %(format)s, which cannot be read as a table."
    ),
    "file.save_as_csv": _(
        "Files of the format %(format)s are not read. Save the table as CSV, and load that file."
    ),
    "file.extra_missing": _(
        "Files of the format %(format)s are read only where datastore-search[%(extra)s] is"
        " installed."
    ),
    "file.unknown_encoding": _(
        "The file's character encoding was not recognised. Save the file as UTF-8, or choose its"
        " encoding, such as “Windows-1252”."
    ),
    "file.ambiguous_encoding": _(
        "The file does not declare its character encoding, and its words can be read in several"
        " ways. Choose the encoding that reads them right: %(readings)s."
    ),
    "file.damaged_utf8": _(
        "The file is in UTF-8, but line %(line)s has characters that are not: they were damaged"
        " before, or are in another encoding. Correct them, and save the file as UTF-8."
    ),
    "file.wrong_encoding": _("The file is not in the chosen character encoding, “%(encoding)s”."),
    "file.unknown_dialect": _(
        "The delimiter of the file was not recognised. Is a quotation mark left open?"
    ),
    "file.nothing_below_skipped": _("The file has no row below the skipped lines: %(count)s."),
    "file.too_many_fields": _("The file has %(count)s fields; at most %(most)s can be stored."),
    "file.missing": _("The file no longer exists, or the load cannot read it."),
    # Options and schemas --------------------------------------------------------------------------
    "option.invalid_range": _(
        "“%(range)s” is not a range of cells: write A1:D20, or A1:D for all rows below."
    ),
    "option.invalid_delimiter": _(
        "“%(delimiter)s” cannot be a delimiter: give one character, or “tab”."
    ),
    "option.unknown_field": _("A type is given for “%(field)s”, which is not a field of the file."),
    "option.unknown_type": _("There is no field type “%(type)s”. Choose one of: %(types)s."),
    "option.unknown_choice": _(
        "“%(value)s” is not a valid “%(name)s”. Choose one of: %(choices)s."
    ),
    "option.unknown_encoding": _("“%(encoding)s” is not a known character encoding."),
    "option.invalid_schema": _("The table schema cannot be used: %(reason)s"),
    # Reasons why a schema cannot be used.
    "schema.not_an_object": _("it is not a JSON object."),
    "schema.stored_elsewhere": _("it is stored elsewhere, at “%(address)s”."),
    "schema.not_one_resource": _("the Data Package has %(count)s resources; it must have one."),
    "schema.no_fields": _("it has no “fields”."),
    "schema.not_a_list": _("“%(name)s” is not a list."),
    "schema.field_not_an_object": _("field %(position)s is not a JSON object."),
    "schema.unnamed_field": _("field %(position)s has no name."),
    "schema.duplicate_name": _("two of its fields have the same name."),
    "schema.not_a_text": _("“%(name)s” of the field “%(field)s” is not a text."),
    "schema.not_a_list_of_texts": _("“%(name)s” of the field “%(field)s” is not a list of texts."),
    "schema.unknown_type": _("“%(type)s” is not a Table Schema type."),
    "schema.missing_value_not_a_text": _("“missingValues” has a value that is not a text."),
    "schema.unknown_key": _("“primaryKey” names a field that the schema does not have."),
    # Loads ----------------------------------------------------------------------------------------
    "load.unexpected": _("The load failed for an unexpected reason; see the server's log."),
    "load.cancelled": _("The load was cancelled."),
    "load.interrupted": _("The load was interrupted: its process has ended."),
    "load.database_lost": _(
        "The connection to the database was lost. Nothing has changed; load the file again."
    ),
    "load.lock_timeout": _(
        "Another load of this resource did not end within %(minutes)s minutes. If none is running, "
        "the sessions %(sessions)s of PostgreSQL hold its lock: end them, and retry."
    ),
    "load.not_queued": _("The load could not be queued; see the server's log."),
    "load.not_retryable": _(
        "The load cannot be retried: it has not ended, or its file is no longer stored."
    ),
    "load.resource_deleted": _("The resource was deleted while the file was being loaded."),
    "load.resource_changed": _(
        "The fields of the resource changed while the file was being loaded. Load it again."
    ),
    "load.not_kept": _("The records from before are no longer kept."),
    # For loads whose option is to refuse such rows; the report lists them.
    "load.bad_rows": _("Rows that cannot be loaded: %(count)s. The first: %(row)s"),
    # A bad row: its line, its field unless the whole row is bad, and its value if there is one.
    "row.field_and_value": _("Line %(line)s, field “%(field)s”, value “%(value)s”: %(reason)s"),
    "row.field": _("Line %(line)s, field “%(field)s”, no value: %(reason)s"),
    "row.value": _("Line %(line)s, “%(value)s”: %(reason)s"),
    "row.line": _("Line %(line)s: %(reason)s"),
    # The file lacks fields of the resource, and the options do not allow them to be dropped.
    "load.missing_fields": _(
        "The file lacks fields of the resource: %(fields)s. If they may be removed, tick "
        "“Fields may disappear” in the admin, or give the command --drop-missing-fields."
    ),
    "load.unstorable_record": _("Line %(row)s contains a value that PostgreSQL cannot store."),
    "load.disk_full": _("The portal’s server has no disk space left for the file."),
    "load.temp_file_limit": _(
        "PostgreSQL’s limit of temporary files (temp_file_limit) is too small for the file. Tell"
        " the portal’s administrators."
    ),
    "load.out_of_memory": _("The file needs more memory than a load may use."),
    "load.reader_timeout": _(
        "Reading the file takes too long. Save it in a simpler form, such as CSV, or in several"
        " files."
    ),
    "load.reader_crashed": _(
        "The file cannot be read: the program that reads such files crashed. The file may be "
        "damaged; save it again, or as CSV."
    ),
    # Keys -----------------------------------------------------------------------------------------
    "key.missing_field": _("The file has no field “%(field)s”, which is in the key."),
    "key.too_many_fields": _("A key has at most %(most)s fields."),
    "key.required": _(
        "Records are updated by a key, and the resource has none: name the fields of the key."
    ),
    # Another key needs a new table: to drop the index of the old key would make readers wait.
    "key.cannot_change": _(
        "The key of the resource is %(fields)s. Only a load that replaces the records can change"
        " it."
    ),
    # Found by PostgreSQL: existing records, or values that are equal only there.
    "key.duplicate": _("Some records have the same values in the fields of the key: %(fields)s."),
    # URLs -----------------------------------------------------------------------------------------
    "url.invalid": _(
        "“%(address)s” is not the address of a file: it must begin with http:// or https:// and"
        " name a server."
    ),
    # The address is stored and shown, and so would be a password in it.
    "url.has_credentials": _("The address must not contain a user name or password."),
    # The same for no such name, no public address and no connection, so that it reveals nothing
    # about the network of the portal.
    "url.unknown_server": _("The server “%(server)s” cannot be reached on the public internet."),
    "url.untrusted_server": _(
        "The certificate of the server “%(server)s” is not valid, or not trusted."
    ),
    "url.server_silent": _("The server sent nothing for more than %(seconds)s seconds."),
    "url.timeout": _("The file did not arrive within %(minutes)s minutes."),
    "url.too_many_redirects": _("The address redirects more than %(most)s times."),
    "url.error_status": _("The server refuses the file: it answers with status %(status)s."),
    "url.broken_response": _("The server's answer is incomplete, or is not valid HTTP."),
    "url.web_page": _("The address leads to a web page, perhaps a login page, and not to a file."),
    "url.file_too_large": _("The file is larger than %(most)s bytes, the limit for fetched files."),
    # Archives -------------------------------------------------------------------------------------
    "archive.damaged": _("The archive is damaged and cannot be unpacked."),
    "archive.truncated": _("The compressed file ends too early: a part of it is missing."),
    "archive.encrypted": _("“%(member)s” in the archive is protected by a password."),
    "archive.unknown_compression": _(
        "“%(member)s” in the archive is compressed in a way that cannot be unpacked."
    ),
    "archive.empty": _("There is no file in the archive."),
    "archive.several_members": _(
        "The archive contains several files. Choose one of them: %(members)s."
    ),
    "archive.unknown_member": _(
        "The archive does not contain the file “%(member)s”. It contains: %(members)s."
    ),
    "archive.nested": _("The archive contains another archive: unpack it, and load its content."),
    "archive.too_large": _("The unpacked file has more than %(most)s bytes, the limit for files."),
    "archive.suspicious": _(
        "The file would be more than %(ratio)s times as large when unpacked: it is refused "
        "as an attack."
    ),
    # Workbooks ------------------------------------------------------------------------------------
    "workbook.unknown_format": _(
        "The file is not a workbook that can be read, neither Excel's nor OpenDocument's."
    ),
    "workbook.encrypted": _("The workbook is protected by a password. Save it without one."),
    "workbook.damaged": _(
        "The workbook is damaged or incomplete. Open it in a spreadsheet program, and save it again"
        " as XLSX."
    ),
    "workbook.unknown_sheet": _("The workbook has no sheet “%(sheet)s”. It has: %(sheets)s."),
    "workbook.empty_sheet": _("The sheet “%(sheet)s” has no cells."),
    "workbook.empty_range": _("The sheet “%(sheet)s” has no cells at %(range)s."),
    "workbook.empty": _("No sheet of the workbook has cells."),
    # JSON -----------------------------------------------------------------------------------------
    "json.invalid": _("The file is not valid JSON (line %(line)s, column %(column)s)."),
    "json.truncated": _("The file ends in the middle of its JSON."),
    "json.long_value": _("A value of the JSON, from line %(line)s on, is longer than %(most)s MB."),
    "json.too_deep": _("The JSON nests lists and objects more than %(most)s deep."),
    "json.no_list": _(
        "The JSON contains no list of objects or of rows. Save the table as CSV, or as a "
        "list of objects."
    ),
    "json.several_lists": _(
        "The JSON holds several lists: %(paths)s. Choose the one that has the records."
    ),
    "json.unknown_path": _("The JSON has no list at “%(path)s”."),
    "json.repeated_member": _("An object has the member “%(member)s” twice."),
    "json.no_records": _("The JSON's list contains no object with members, and no row."),
    "json.bad_record": _("Line %(line)s: %(reason)s"),
    # Places ---------------------------------------------------------------------------------------
    "geo.damaged": _("The file is damaged or incomplete: it cannot be read as %(format)s."),
    "geo.incomplete": _("The shapefile has no part “%(part)s”."),
    "geo.no_coordinates": _(
        "The coordinate system of the shapefile is unknown: its part “.prj” is missing."
    ),
    "geo.unknown_coordinates": _("The coordinate system of the file is unknown."),
    "geo.no_features": _("The GeoJSON has no features."),
    "geo.no_collection": _(
        "The GeoJSON is a geometry or a single feature, which is not a table. Save it as a"
        " FeatureCollection."
    ),
    "geo.curves": _(
        "The layer has curves or surfaces, which GeoJSON does not have. Convert them to lines and"
        " polygons."
    ),
    "geo.no_layers": _("The file has no layer with records."),
    "geo.several_layers": _("The file has several layers: %(layers)s. Choose one of them."),
    "geo.unknown_layer": _("The file has no layer “%(layer)s”. It has: %(layers)s."),
    # Parquet --------------------------------------------------------------------------------------
    "parquet.int96": _(
        "The field “%(field)s” has INT96 timestamps that are finer than a microsecond, "
        "before the year 1 or after 9999. Write them as TIMESTAMP, or save the table as CSV."
    ),
    "parquet.damaged": _("The Parquet file is damaged or incomplete."),
    "parquet.encrypted": _("The Parquet file is encrypted."),
    "parquet.out_of_memory": _(
        "The file needs more memory than a load may use. Save it with smaller row groups, or "
        "as CSV."
    ),
    # Rows that cannot be loaded -------------------------------------------------------------------
    "row.cell_count": _("The header has %(header)s cells; the row has %(cells)s."),
    "row.open_quote": _("A quotation mark is opened and never closed."),
    "row.stray_quote": _(
        "Text follows a closing quotation mark; one within a text must be doubled."
    ),
    "row.wrong_type": _("The value is not of type %(type)s."),
    "row.changed": _(
        "As %(type)s, the value would be returned differently. Correct it, or choose the type of "
        "the field for this load."
    ),
    "row.empty_key": _("A field of the key is empty."),
    "row.repeated_key": _("Line %(line)s has the same key."),
    "row.existing_key": _("A record with this key already exists."),
    "row.long_key": _("The key has %(count)s bytes; at most %(most)s can be indexed."),
    "row.long_number": _(
        "The value has numbers with exponents that are too long when they are written out; each may"
        " have %(most)s digits."
    ),
    # PostgreSQL's JSON has no character U+0000, and no numbers beyond its range.
    "row.unstorable": _(
        "The value cannot be stored: it has the character U+0000, or is not valid JSON."
    ),
    "row.too_long": _("The row is longer than %(most)s MB."),
    "row.error_cell": _(
        "The cell has an error. List “%(error)s” among the texts that mean “no value”, or "
        "correct it."
    ),
    "row.no_date": _(
        "The cell is formatted as a date or a time, but its number is not a valid date or time."
        " Correct it, or list “%(error)s” among the texts that mean “no value”."
    ),
    "row.bad_geometry": _("The coordinates of the place cannot be read."),
    "row.not_json": _("The line is not valid JSON."),
    "row.not_an_object": _("It is not an object, unlike the others."),
    "row.not_a_list": _("It is not a list of cells, unlike the others."),
    "row.repeated_member": _("An object has the member “%(member)s” twice."),
    "row.too_deep": _("It nests lists and objects more than %(most)s deep."),
    # Notices: how a file was read, and what has changed -------------------------------------------
    "notice.encoding_guessed": _(
        "The file does not declare its character encoding: it was read as %(encoding)s."
    ),
    "notice.lines_above_header": _(
        "The header was found on line %(line)s; the lines above it were left out."
    ),
    "notice.rows_above_header": _(
        "The header was found in row %(row)s; the rows above it were left out."
    ),
    "notice.empty_columns": _(
        "Columns at the end without a name and without a value were left out: %(count)s."
    ),
    "notice.empty_rows": _("Rows without any value were left out: %(count)s."),
    "notice.names_missing": _("Fields without a name were named by their position: %(fields)s."),
    "notice.names_repeated": _("Repeated names got a number: %(fields)s."),
    "notice.no_header": _(
        "The first row has values that cannot be names, so it was read as a record."
    ),
    "notice.header_like_record": _(
        "The first row looks like a record, not like the names of fields: %(values)s. The file may "
        "have no header."
    ),
    "notice.sheet_chosen": _(
        "Read the sheet “%(sheet)s”, the first with cells. Others with cells: %(others)s."
    ),
    "notice.cover_sheet": _(
        "The sheet “%(sheet)s” looks like a cover: it has no table. Others with cells: %(others)s."
    ),
    "notice.merged_cells": _(
        "Merged cells in the table: %(count)s. The value is in the first cell of each, the others"
        " are empty."
    ),
    "notice.merged_rows": _(
        "Empty rows of merged cells: %(count)s, in %(fields)s. The value can be repeated in them."
    ),
    "notice.merged_filled": _("Merged cells were filled down: %(count)s, in %(fields)s."),
    "notice.nested_list": _("The records are the list “%(path)s” of the file."),
    "notice.empty_formulas": _(
        "Formulas whose values are not in the file: %(count)s. Their cells are empty. Open the"
        " workbook in a spreadsheet program, and save it there."
    ),
    "notice.rounded_numbers": _(
        "Whole numbers of more than 15 digits: %(count)s. An XLS file may contain them rounded, so"
        " they are read as text. Check their last digits, or export the table as CSV or XLSX from"
        " its source."
    ),
    "notice.wal_mode": _(
        "The GeoPackage was saved in SQLite's WAL mode: its last changes may be in a file beside"
        " it, which is not read. To be sure, close it in all programs or export it, and load it"
        " again."
    ),
    "notice.range_continues": _(
        "The row below %(range)s has values in the same columns, which were left out."
    ),
    "notice.footer_found": _(
        "The last rows, from line %(line)s on, look like notes or totals below the table:"
        " %(count)s. They can be left out."
    ),
    "notice.footer_skipped": _(
        "Notes or totals below the table, from line %(line)s on, were left out: %(count)s."
    ),
    "notice.coordinates_converted": _("The coordinates were converted from %(name)s to WGS 84."),
    "notice.binary_values": _(
        "The field “%(field)s” has bytes that are not text; they are written in hexadecimal."
    ),
    "notice.ambiguous_dates": _(
        "Field “%(field)s” stays text: it is not clear whether the day or the month comes "
        "first, as in “%(value)s”. Choose %(one)s or %(other)s."
    ),
    "notice.ambiguous_points": _(
        "Field “%(field)s” stays text: the point may separate thousands or decimals, as in "
        "“%(value)s”. Choose %(one)s or %(other)s."
    ),
    "notice.unit": _(
        "Field “%(field)s” has numbers as they are written, without the unit “%(unit)s”."
    ),
    "notice.ambiguous_numbers": _(
        "Field “%(field)s” stays text: the comma may separate thousands or decimals, as in "
        "“%(value)s”. Choose %(one)s or %(other)s."
    ),
    "notice.maybe_thousands": _(
        "Field “%(field)s” is read with a decimal point: “%(value)s”. If the point separates "
        "thousands, choose %(other)s."
    ),
    "notice.maybe_dates": _(
        "Field “%(field)s” has whole numbers that may be days, such as “%(value)s”."
    ),
    "notice.grouped_codes": _(
        "Field “%(field)s” stays text: digits in groups of equal length, such as "
        "“%(value)s”, are treated as codes. If they are numbers, choose %(other)s."
    ),
    "notice.values_changed": _(
        "Field “%(field)s” is read as %(type)s. Values that are returned differently: "
        "%(count)s, such as “%(value)s”."
    ),
    "notice.stays_text": _("Field “%(field)s”: %(reason)s."),
    "notice.type_not_applied": _(
        "The type kept for “%(field)s” was not applied: the file has no such field."
    ),
    "notice.schema_ignored": _("Parts of the schema are not used: %(names)s."),
    "notice.format_ignored": _(
        "The schema’s type %(type)s with the format %(format)s is not supported: the values "
        "of “%(field)s” decide."
    ),
    "notice.fields_added": _("New fields: %(fields)s."),
    "notice.fields_dropped": _("Removed fields: %(fields)s."),
    "notice.fields_empty": _(
        "Fields that the file does not have, empty in the new records: %(fields)s."
    ),
    "notice.field_retyped": _(
        "Field “%(field)s” was of type %(before)s, and is of type %(type)s now."
    ),
    # Existing records have the type; only a load that replaces them can change it.
    "notice.type_kept": _(
        "Field “%(field)s” keeps its type %(type)s, though %(chosen)s was chosen."
    ),
    "notice.key_dropped": _(
        "The key was removed, because the file lacks some of its fields: %(fields)s."
    ),
    "notice.substrings_not_indexed": _(
        "Substrings are not indexed: the database has no extension pg_trgm."
    ),
    "notice.rows_left_out": _("Rows that could not be loaded and were left out: %(count)s."),
    "notice.report_cut": _("The report lists the first %(listed)s faults of %(count)s."),
    "notice.records_merged": _(
        "Records added: %(added)s; changed: %(changed)s; the same as before: %(same)s."
    ),
    "notice.records_compared": _(
        "Compared by %(key)s with the published records: added: %(added)s; changed: %(changed)s;"
        " removed: %(removed)s."
    ),
    "notice.records_counted": _(
        "Published records: %(before)s; after the load: %(after)s. With the same key in both, the"
        " preview says what changes."
    ),
    "notice.records_not_compared": _(
        "Published records: %(before)s; after the load: %(after)s. Comparing them takes too long."
    ),
    # Why a field has its type ---------------------------------------------------------------------
    "type.nearly_all": _(
        "text: all values look like %(type)s, but %(count)s of %(total)s, the first in line "
        "%(line)s: %(value)s"
    ),
    "type.mixed_formats": _(
        "text: the values look like %(type)s, but are not all written in one way, and would "
        "be returned differently"
    ),
    "type.leading_zeros": _(
        "text: numbers would lose the leading zeros of values, first in line %(line)s: “%(value)s”"
    ),
    "type.leading_plus": _(
        "text: numbers would lose the leading sign of values, first in line %(line)s: “%(value)s”"
    ),
    "type.long_numbers": _(
        "text: whole numbers of more than 18 digits are treated as codes, first in line "
        "%(line)s: “%(value)s”"
    ),
    "type.exponents": _(
        "text: numbers would lose how values are written, first in line %(line)s: “%(value)s”"
    ),
    "type.two_digit_years": _(
        "text: years of two digits are never guessed, as in line %(line)s: “%(value)s”"
    ),
    "type.month_names": _(
        "text: English names of months are read by choice only, as in line %(line)s: “%(value)s”"
    ),
    "type.units": _(
        "text: the unit of numbers is never left out without a choice, as in line %(line)s: "
        "“%(value)s”"
    ),
    "type.no_values": _("text: the field has no values"),
    "type.chosen": _("%(type)s: chosen"),
    "type.declared": _("%(type)s: declared in the file"),
    "type.date_order": _("%(type)s: the order of dates was chosen; the values leave it open"),
    "type.every_value": _("%(type)s: all values are of this type"),
    # How the values of a type are written ---------------------------------------------------------
    "format.example": _("%(type)s (as in %(example)s)"),
    # What values look like ------------------------------------------------------------------------
    "values.numbers": _("numbers"),
    "values.dates": _("dates"),
    "values.timestamps": _("dates with a time"),
    "values.times": _("times"),
}

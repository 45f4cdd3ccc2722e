"""
Read a file into a staged table: detect its format, and find its fields and its rows.

``process.open_table`` starts ``child``, a process with limits in which everything else here runs
(decision 0023).  ``formats`` chooses the reader: ``delimited``, ``json``, ``parquet``,
``workbooks`` or ``geo``, with the modules that begin with the same word.  Readers write to the
staging area (``staging``, ``row_writer``, ``duckdb_sql``) and share ``headers``, ``header_rows``
and ``footers``.
Nothing here depends on models or PostgreSQL.
"""

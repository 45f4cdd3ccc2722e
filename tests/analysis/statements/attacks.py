"""Statements that read or change what they must not, and statements that need too much."""

from __future__ import annotations

#: Each is refused before it is asked.
REFUSED = r"""
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_blob('/etc/*')
SELECT * FROM read_parquet('https://example.org/x.parquet')
SELECT * FROM read_json('/etc/passwd')
SELECT * FROM read_json_auto('s3://bucket/x')
SELECT * FROM read_ndjson('/proc/self/environ')
SELECT * FROM parquet_scan('/tmp/x.parquet')
SELECT * FROM parquet_metadata('/tmp/x.parquet')
SELECT * FROM parquet_schema('/tmp/x.parquet')
SELECT * FROM glob('/*')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
SELECT * FROM "/tmp/x.csv"
SELECT * FROM 'x.parquet'
SELECT * FROM "https://example.org/x.parquet"
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_functions()
SELECT * FROM pragma_database_list()
SELECT * FROM pragma_table_info('snapshot')
SELECT * FROM pragma_storage_info('snapshot')
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('snapshot')
SELECT * FROM sql_auto_complete('SEL')
SELECT * FROM which_secret('a', 'b')
SELECT * FROM postgres_scan('host=localhost', 'public', 'auth_user')
SELECT * FROM sqlite_scan('/tmp/x', 't')
SELECT * FROM dblink('dbname=x', 'SELECT 1') AS t(a int)
SELECT current_setting('data_directory')
SELECT getenv('HOME')
SELECT getvariable('x')
SELECT set_config('statement_timeout', '0', false)
SELECT pg_read_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT pg_sleep(100)
SELECT pg_terminate_backend(1)
SELECT pg_cancel_backend(1)
SELECT lo_import('/etc/passwd')
SELECT lo_export(1, '/tmp/x')
SELECT query_to_xml('SELECT 1', true, true, '')
SELECT table_to_xml('auth_user', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT has_table_privilege('auth_user', 'select')
SELECT version()
SELECT current_user
SELECT session_user
SELECT current_database()
SELECT current_schema()
SELECT inet_server_addr()
SELECT txid_current()
SELECT nextval('auth_user_id_seq')
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_class
SELECT * FROM pg_shadow
SELECT * FROM pg_stat_activity
SELECT * FROM pg_user
SELECT * FROM information_schema.tables
SELECT * FROM sqlite_master
SELECT * FROM auth_user
SELECT * FROM public.auth_user
SELECT * FROM datastore_search_resource
SELECT * FROM main."T"
SELECT * FROM memory.main."T"
SELECT * FROM snapshot
SELECT * FROM k_0123456789abcdef0123456789abcdef
SELECT * FROM "^0"
SELECT "^#price" FROM "T"
SELECT * FROM "T"."T"
SELECT * FROM ONLY "T"
INSERT INTO "T" VALUES (1)
UPDATE "T" SET n = 1
DELETE FROM "T"
TRUNCATE "T"
DROP TABLE "T"
DROP VIEW "T"
CREATE TABLE x AS SELECT 1
CREATE VIEW x AS SELECT 1
CREATE MACRO f(a) AS a
CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql
CREATE SECRET (TYPE s3)
ALTER TABLE "T" ADD COLUMN x int
GRANT ALL ON "T" TO public
COPY "T" TO '/tmp/x'
COPY (SELECT 1) TO PROGRAM 'id'
COPY "T" FROM PROGRAM 'id'
EXPORT DATABASE '/tmp/x'
IMPORT DATABASE '/tmp/x'
ATTACH '/tmp/x' AS x
ATTACH ':memory:' AS x
DETACH x
INSTALL httpfs
LOAD httpfs
FORCE INSTALL httpfs
USE x
PRAGMA database_list
SET memory_limit = '100GB'
SET enable_external_access = true
RESET ALL
SHOW TABLES
DESCRIBE "T"
SUMMARIZE "T"
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT * FROM "T"
BEGIN
COMMIT
ROLLBACK
VACUUM
CHECKPOINT
CALL pragma_version()
DO 'BEGIN END'
EXECUTE x
PREPARE x AS SELECT 1
DECLARE c CURSOR FOR SELECT 1
LISTEN x
LOCK TABLE "T"
KILL 1
SELECT 1; SELECT 2
SELECT 1; DROP TABLE "T"
SELECT 1;DELETE FROM "T";--
SELECT 1 /* ; */; SELECT 2
; SELECT 1; SELECT 2
SELECT * INTO x FROM "T"
SELECT * FROM "T" FOR UPDATE
SELECT * FROM "T" FOR SHARE NOWAIT
WITH x AS (INSERT INTO "T" VALUES (1) RETURNING *) SELECT * FROM x
WITH x AS (DELETE FROM "T" RETURNING *) SELECT * FROM x
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT * FROM r
WITH RECURSIVE r AS (SELECT * FROM "T" UNION SELECT * FROM r) SELECT * FROM r
WITH "T" AS (SELECT * FROM "T") SELECT * FROM "T"
SELECT repeat('x', 2000000000)
SELECT lpad('x', 2000000000)
SELECT rpad('x', 2000000000, 'y')
SELECT unnest(range(1000000000))
SELECT * FROM range(1000000000)
SELECT * FROM generate_series(1, 1000000000)
SELECT * FROM unnest(ARRAY[1, 2])
SELECT range(1000000000)
SELECT list_aggregate(range(1000), 'sum')
SELECT [x FOR x IN range(1000000)]
SELECT list_transform([1], x -> x)
SELECT array_fill(0, ARRAY[100000000])
SELECT random()
SELECT setseed(0.5)
SELECT uuid()
SELECT gen_random_uuid()
SELECT error('x')
SELECT chr(0)
SELECT U&'\0041'
SELECT U&"\0041" FROM "T"
SELECT X'41'
SELECT B'1'
SELECT N'a'
SELECT $1
SELECT ?
SELECT :name
SELECT @x
SELECT 'a' 'b'
SELECT 1_000
SELECT 0x10
SELECT "T" FROM "T"
SELECT "T".* EXCLUDE (n) FROM "T"
SELECT * EXCLUDE (n) FROM "T"
SELECT * REPLACE (1 AS n) FROM "T"
SELECT * EXCEPT (n) FROM "T"
SELECT COLUMNS('.*') FROM "T"
SELECT * LIKE 'n%' FROM "T"
FROM "T"
FROM "T" SELECT n
SELECT n FROM "T" QUALIFY row_number() OVER () = 1
SELECT * FROM "T" USING SAMPLE 10
SELECT * FROM "T" TABLESAMPLE SYSTEM (10)
SELECT * FROM "T" PIVOT (sum(n) FOR name IN ('a'))
PIVOT "T" ON name
SELECT * FROM "T" POSITIONAL JOIN u
SELECT * FROM "T" ASOF JOIN u ON "T".n >= u.n
SELECT * FROM "T" SEMI JOIN u ON true
SELECT * FROM "T" NATURAL JOIN u
SELECT * FROM "T", LATERAL (SELECT "T".n) x
SELECT * FROM "T" CROSS JOIN LATERAL unnest(ARRAY[n])
SELECT sum(n) FROM "T" GROUP BY ALL
SELECT * FROM "T" ORDER BY ALL
SELECT name, sum(n) FROM "T" GROUP BY CUBE (name)
SELECT name, sum(n) FROM "T" GROUP BY GROUPING SETS ((name), ())
SELECT n FROM "T" LIMIT 10 PERCENT
SELECT n FROM "T" LIMIT (SELECT 5)
SELECT n FROM "T" LIMIT -1
SELECT {'a': 1}
SELECT [1, 2]
SELECT MAP {'a': 1}
SELECT ROW(1, 2)
SELECT (1, 2)
SELECT n -> 'a' FROM "T"
SELECT name[1] FROM "T"
SELECT n::json FROM "T"
SELECT n::regclass FROM "T"
SELECT 'auth_user'::regclass::oid
SELECT name::blob FROM "T"
SELECT CAST('x' AS STRUCT(a INT))
SELECT TRY_CAST('x' AS INT)
SELECT name SIMILAR TO '%(a|b)*' FROM "T"
SELECT name ~ '(a+)+\1' FROM "T"
SELECT name ~ name FROM "T"
SELECT regexp_replace(name, '(a*)*', 'x') FROM "T"
SELECT regexp_extract_all(name, '.') FROM "T"
SELECT to_json("T") FROM "T"
SELECT row_to_json(x) FROM "T" x
SELECT json_agg(n) FROM "T"
SELECT xmlparse(document '<a/>')
SELECT getbit(1, 1)
SELECT hex(name) FROM "T"
SELECT base64(name) FROM "T"
SELECT encode(name, 'hex') FROM "T"
SELECT _full_text FROM "T"
SELECT * FROM "T" WHERE _full_text @@ plainto_tsquery('a')
SELECT xmin, ctid FROM "T"
SELECT rowid FROM "T"
SELECT tableoid::regclass FROM "T"
SELECT data FROM "T"
SELECT search FROM "T"
SELECT * FROM "T" WHERE n = 1 UNION SELECT * FROM auth_user --
SELECT '
SELECT "
SELECT /*
SELECT (
SELECT )
SELECT
SELECT FROM "T"
SELECT * FROM
nonsense

\
""".strip("\n").split("\n")

_CHAIN = " + ".join(["n"] * 100)
_FEW = ", ".join(["n"] * 50)

#: Refused as well: what is too long, too deep or too wide.
TOO_LARGE = {
    "long": "SELECT '" + "x" * 30_000 + "'",
    "tokens": "SELECT " + ",".join(["1"] * 2_000),
    "brackets": "SELECT " + "(" * 500 + "1" + ")" * 500,
    "brackets_few": "SELECT " + "(" * 80 + "1" + ")" * 80,
    "not": "SELECT " + "NOT " * 1_000 + "true",
    "minus": "SELECT " + "- " * 1_400 + "1",
    "case": "SELECT " + "CASE WHEN true THEN " * 200 + "1" + " END" * 200,
    "queries": "SELECT * FROM " + "(SELECT * FROM " * 100 + '"T"' + ") x" * 100,
    "functions": "SELECT " + "abs(" * 300 + "1" + ")" * 300,
    "tables": 'SELECT count(*) FROM "T", u, a, b, c, d',
    "doubling": 'WITH a0 AS (SELECT n FROM "T"), '
    + ", ".join(f"a{i} AS (SELECT x.n FROM a{i - 1} x, a{i - 1} y)" for i in range(1, 25))
    + " SELECT * FROM a24",
    "joins": 'SELECT count(*) FROM "T" a0 '
    + " ".join(f'CROSS JOIN "T" a{i}' for i in range(1, 250)),
    "nul": "SELECT '\0'",
    "surrogate": "SELECT '\ud800'",
}

#: These end at a limit of time or memory, or with what is computed too large; then the next works.
ENDED = {
    "cross": 'SELECT sum(a.n % 7 * (b.n % 5) * (c.n % 3)) FROM "T" a, "T" b, "T" c, "T" d',
    "sorted": 'SELECT a.name || b.name || c.name AS x FROM "T" a, "T" b, "T" c ORDER BY x DESC',
    "distinct": 'SELECT count(DISTINCT a.name || b.name || c.name) FROM "T" a, "T" b, "T" c',
    "list": 'SELECT array_agg(a.name) FROM "T" a, "T" b, "T" c',
    "text": 'SELECT string_agg(a.name, \'x\') FROM "T" a, "T" b, "T" c',
    "replace": "SELECT length("
    + "replace(" * 9
    + "'aaaaaaaaaa'"
    + ", 'a', 'aaaaaaaaaa')" * 9
    + ")",
    "concatenation": "WITH a0 AS (SELECT 'xxxxxxxxxxxxxxxx' AS x), "
    + ", ".join(f"a{i} AS (SELECT x || x || x || x AS x FROM a{i - 1})" for i in range(1, 15))
    + " SELECT length(x) FROM a14",
    "window": 'SELECT sum(a.n) OVER (ORDER BY a.name || b.name || c.name) FROM "T" a, "T" b, "T" c',
    "pattern": 'SELECT count(*) FROM "T" a, "T" b, "T" c WHERE a.name || b.name || c.name'
    " ~ '(((a*)*)*)*b$'",
    "overflow": "SELECT 9223372036854775807 + 1",
    "power": "SELECT power(10.0, 300) * power(10.0, 300)",
}

#: These look like attacks and are ordinary.
ORDINARY = [
    'SELECT count(*) FROM "T" WHERE ' + " OR ".join(f"n = {i}" for i in range(500)),
    f'SELECT {_CHAIN} AS x FROM "T" LIMIT 1',
    f'SELECT {_FEW} FROM "T" LIMIT 1',
    "SELECT '; DROP TABLE x; --' AS x",
    "SELECT 1 -- a comment; SELECT 2",
    "/* a comment */ SELECT /* another */ 1",
    'SELECT n AS "DROP TABLE x" FROM "T" LIMIT 1',
    "SELECT 'read_csv(''/etc/passwd'')'",
    "SELECT 1;",
]

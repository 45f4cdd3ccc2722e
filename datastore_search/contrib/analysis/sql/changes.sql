-- Which records of a table have changed since its snapshot was made, by transaction.
--
-- A record is new, changed or gone; a row without one stands for more records than are noted.  The
-- number of a record does not say whether a snapshot has it: records with numbers of their own fill
-- gaps, and a slow transaction's record appears after later ones.  So each row has its transaction,
-- and the snapshot knows which transactions it has seen.
--
-- The triggers of a table are made with its first snapshot, and gone with the table.

CREATE TABLE datastore_search_analysis_change (
    table_id bigint NOT NULL,
    record_id bigint,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX datastore_search_analysis_change_table ON datastore_search_analysis_change (table_id);

CREATE FUNCTION datastore_search_note_changes() RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
    noted text := 'SELECT _id FROM changed';
    is_many boolean := true;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        noted := 'SELECT _id FROM changed UNION SELECT _id FROM before';
    END IF;
    IF TG_OP <> 'TRUNCATE' THEN
        EXECUTE 'SELECT count(*) > 20000 FROM (SELECT FROM changed LIMIT 20001) AS few'
        INTO is_many;
    END IF;
    IF is_many THEN
        noted := 'SELECT NULL::bigint';
    END IF;
    EXECUTE format(
        'INSERT INTO %I.datastore_search_analysis_change (table_id, record_id)'
        ' SELECT %L::bigint, noted.* FROM (%s) AS noted', TG_TABLE_SCHEMA, TG_ARGV[0], noted);
    RETURN NULL;
END
$function$;

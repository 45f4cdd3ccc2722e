-- The record tables that Citus has placed on workers, and the versions that are read there.
--
-- A placed record table has another table beside it, of one row: the version of its resource.  Every
-- change of a resource reaches it in the same transaction.  The change of datastore_search_scale_placed,
-- a table that Citus knows on this machine, makes Citus commit in two phases: on this machine and on
-- the worker, or on none (docs/decisions/0058).

CREATE TABLE IF NOT EXISTS datastore_search_scale_placed (
    table_id bigint PRIMARY KEY,
    version bigint NOT NULL
);

CREATE OR REPLACE FUNCTION datastore_search_version_placed() RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
    placed bigint;
BEGIN
    -- A deleted resource, or an older table, has a version that no description has.
    FOR placed IN EXECUTE format(
        'UPDATE %I.datastore_search_scale_placed SET version = $1'
        ' WHERE table_id IN ($2, $3) RETURNING table_id', TG_TABLE_SCHEMA)
        USING coalesce(NEW.version, 0), NEW.table_version_id, OLD.table_version_id
    LOOP
        EXECUTE format(
            'UPDATE %I.datastore_search_record_%s_version SET version = $1',
            TG_TABLE_SCHEMA, placed) USING coalesce(NEW.version, 0);
    END LOOP;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$function$;

-- After datastore_search_version, by its name.  Of a trigger that runs AFTER, Citus does not notice that
-- it is part of a transaction, and would commit on the worker at once.
CREATE OR REPLACE TRIGGER datastore_search_version_placed
BEFORE INSERT OR UPDATE OR DELETE ON datastore_search_resource
FOR EACH ROW EXECUTE FUNCTION datastore_search_version_placed();

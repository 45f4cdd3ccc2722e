-- The version of a resource, which every change that an answer depends on increases.
--
-- A version is the time of the change in microseconds, or one more than the version before where
-- the clock is behind it.  So it increases with each change of the row, and a version that a
-- rollback, a restore of an older dump or a deletion removes is never used again, unlike the values of
-- a counter (docs/decisions/0014).  A dump and logical replication keep the column as it
-- is: pg_restore creates triggers after the data, and a subscriber does not fire them.
--
-- The resources are found in the schema of the changed table, whatever the search path is: a restore
-- of data alone sets none.

CREATE OR REPLACE FUNCTION datastore_search_set_version() RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    NEW.version := (extract(epoch FROM moment) * 1000000)::bigint;
    IF TG_OP = 'UPDATE' THEN
        NEW.version := greatest(NEW.version, OLD.version + 1);
        NEW.modified_at := moment;
    END IF;
    RETURN NEW;
END
$function$;

-- A change of fields or aliases is a change of their resource.
CREATE OR REPLACE FUNCTION datastore_search_touch_resource() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET version = version'
        ' WHERE id IN (SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

-- Of rows that move from one resource to another, both are changed.
CREATE OR REPLACE FUNCTION datastore_search_touch_both_resources() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET version = version'
        ' WHERE id IN (SELECT resource_id FROM before UNION SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

CREATE OR REPLACE TRIGGER datastore_search_version
BEFORE INSERT OR UPDATE ON datastore_search_resource
FOR EACH ROW EXECUTE FUNCTION datastore_search_set_version();

CREATE OR REPLACE TRIGGER datastore_search_inserted AFTER INSERT ON datastore_search_field
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();
CREATE OR REPLACE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_field
REFERENCING OLD TABLE AS before NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_both_resources();
CREATE OR REPLACE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_field
REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();

CREATE OR REPLACE TRIGGER datastore_search_inserted AFTER INSERT ON datastore_search_alias
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();
CREATE OR REPLACE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_alias
REFERENCING OLD TABLE AS before NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_both_resources();
CREATE OR REPLACE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_alias
REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();

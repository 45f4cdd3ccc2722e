-- What an answer depends on besides the records: every change of it changes the resource's row.
-- The resources are found beside the table that was changed, whatever the search path is: a restore
-- of data alone has none.

CREATE OR REPLACE FUNCTION datastore_search_modified() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.modified_at := clock_timestamp();
    RETURN NEW;
END
$function$;

-- A change of fields or aliases is a change of their resource.
CREATE OR REPLACE FUNCTION datastore_search_touch() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET modified_at = clock_timestamp()'
        ' WHERE id IN (SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

-- Of rows that were moved from one resource to another, both are changed.
CREATE OR REPLACE FUNCTION datastore_search_touch_both() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET modified_at = clock_timestamp()'
        ' WHERE id IN (SELECT resource_id FROM before UNION SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

CREATE OR REPLACE TRIGGER datastore_search_modified BEFORE UPDATE ON datastore_search_resource
FOR EACH ROW EXECUTE FUNCTION datastore_search_modified();

CREATE OR REPLACE TRIGGER datastore_search_inserted AFTER INSERT ON datastore_search_field
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch();
CREATE OR REPLACE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_field
REFERENCING OLD TABLE AS before NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_both();
CREATE OR REPLACE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_field
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch();

CREATE OR REPLACE TRIGGER datastore_search_inserted AFTER INSERT ON datastore_search_alias
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch();
CREATE OR REPLACE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_alias
REFERENCING OLD TABLE AS before NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_both();
CREATE OR REPLACE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_alias
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch();

-- A change that no reader sees, as a new index, raises the version and is no change of the resource:
-- its transaction sets datastore_search.keeps_modified_at.
CREATE OR REPLACE FUNCTION datastore_search_set_version() RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    NEW.version := (extract(epoch FROM moment) * 1000000)::bigint;
    IF TG_OP = 'UPDATE' THEN
        NEW.version := greatest(NEW.version, OLD.version + 1);
        IF current_setting('datastore_search.keeps_modified_at', true) IS DISTINCT FROM 'on' THEN
            NEW.modified_at := moment;
        END IF;
    END IF;
    RETURN NEW;
END
$function$;

-- Names, ids and aliases of resources share one space: none of a resource is that of another.
--
-- A name and an alias that two transactions add at the same time are checked one after the other,
-- as by a unique index. The lock is one of 1,024, so that a transaction that adds many names does
-- not need a lock for each. What does not change is not checked, so rows that older versions
-- allowed can still be changed; datastore_doctor names them.

CREATE OR REPLACE FUNCTION datastore_search_check_name() RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
    owner uuid := to_jsonb(NEW) ->> TG_ARGV[0];
    named_id uuid;
    is_taken boolean;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.name = OLD.name AND owner::text = to_jsonb(OLD) ->> TG_ARGV[0] THEN
        RETURN NEW;
    END IF;
    IF NEW.name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        named_id := NEW.name;
    END IF;
    PERFORM pg_advisory_xact_lock(1685282670, number) FROM (
        SELECT DISTINCT hashtext(lower(name)) & 1023 AS number
        FROM unnest(ARRAY[NEW.name, owner::text]) AS name ORDER BY number
    ) AS locks;
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM %1$I.datastore_search_resource'
        '  WHERE (name IN ($1, $2::text) OR id = $3) AND id <> $2)'
        ' OR $4 AND EXISTS (SELECT FROM %1$I.datastore_search_alias'
        '  WHERE name = $1 AND resource_id <> $2)',
        TG_TABLE_SCHEMA
    ) INTO is_taken USING NEW.name, owner, named_id, TG_ARGV[0] = 'id';
    IF is_taken THEN
        RAISE unique_violation USING MESSAGE = 'Another resource has this name.';
    END IF;
    RETURN NEW;
END
$function$;

CREATE OR REPLACE TRIGGER datastore_search_name
BEFORE INSERT OR UPDATE OF name ON datastore_search_resource
FOR EACH ROW EXECUTE FUNCTION datastore_search_check_name('id');

CREATE OR REPLACE TRIGGER datastore_search_name
BEFORE INSERT OR UPDATE OF name, resource_id ON datastore_search_alias
FOR EACH ROW EXECUTE FUNCTION datastore_search_check_name('resource_id');

-- A row for each resource, and versions of resources that change with their datasets.
--
-- The triggers also work in a portal that has taken the app away and kept its tables.

CREATE FUNCTION datastore_search_catalogue_add_datasets() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'INSERT INTO %I.datastore_search_catalogue_dataset (id, resource_id)'
        ' SELECT id::text, id FROM added ON CONFLICT (resource_id) DO NOTHING',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

CREATE FUNCTION datastore_search_catalogue_touch_resources() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %1$I.datastore_search_resource SET version = version WHERE id IN ('
        'SELECT resource_id FROM changed UNION'
        ' SELECT resource_id FROM %1$I.datastore_search_catalogue_dataset'
        ' WHERE part_of_id IN (SELECT id FROM changed))',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$function$;

-- Tags are found whatever the case of their letters.
CREATE FUNCTION datastore_search_catalogue_fold(tags varchar[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT upper(tag) FROM unnest(tags) AS tag);

CREATE INDEX datastore_search_catalogue_tags ON datastore_search_catalogue_dataset
USING gin (datastore_search_catalogue_fold(tags));

-- Few resources are hidden from everyone, so the others are found without reading all.
CREATE INDEX datastore_search_catalogue_hidden ON datastore_search_resource (id)
WHERE private OR table_version_id IS NULL;

CREATE TRIGGER datastore_search_catalogue_added AFTER INSERT ON datastore_search_resource
REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_catalogue_add_datasets();
CREATE TRIGGER datastore_search_version
BEFORE INSERT OR UPDATE ON datastore_search_catalogue_dataset
FOR EACH ROW EXECUTE FUNCTION datastore_search_set_version();
CREATE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_catalogue_dataset
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_catalogue_touch_resources();
CREATE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_catalogue_dataset
REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_catalogue_touch_resources();

INSERT INTO datastore_search_catalogue_dataset (id, resource_id)
SELECT id::text, id FROM datastore_search_resource;

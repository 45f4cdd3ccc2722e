-- The time of a dataset's last change is shown with the dataset alone, so it changes no resource of it.
-- Whoever writes one resource of a dataset then does not wait for writers of the others.

CREATE OR REPLACE FUNCTION datastore_search_catalogue_touch_changed() RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %1$I.datastore_search_resource SET version = version WHERE id IN ('
        'SELECT resource_id FROM changed UNION'
        ' SELECT resource_id FROM %1$I.datastore_search_catalogue_dataset'
        ' WHERE part_of_id IN (SELECT id FROM changed JOIN former USING (id)'
        '  WHERE to_jsonb(changed) - $1 <> to_jsonb(former) - $1))',
        TG_TABLE_SCHEMA
    ) USING ARRAY['metadata_modified', 'modified_at', 'version'];
    RETURN NULL;
END
$function$;

DROP TRIGGER datastore_search_updated ON datastore_search_catalogue_dataset;
CREATE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_catalogue_dataset
REFERENCING OLD TABLE AS former NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_catalogue_touch_changed();

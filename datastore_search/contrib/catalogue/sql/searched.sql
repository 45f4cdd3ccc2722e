-- The texts that a search of the catalogue reads of a dataset, each on a line, in capitals: the names,
-- titles, descriptions, translations, publisher, tags and organization, and the fields of a table.
CREATE FUNCTION datastore_search_catalogue_text(dataset_id varchar) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $function$
    SELECT upper(concat_ws(
        E'\n', dataset.id, dataset.name, dataset.title, dataset.notes, dataset.publisher,
        array_to_string(dataset.tags, E'\n'), dataset.organization ->> 'title',
        resource.name, resource.title, resource.description,
        (SELECT string_agg(value #>> '{}', E'\n')
            FROM jsonb_path_query(dataset.translations, '$.*.*') AS value),
        (SELECT string_agg(value #>> '{}', E'\n')
            FROM jsonb_path_query(resource.translations, '$.*.*') AS value),
        (SELECT string_agg(field.name || E'\n' || field.label, E'\n')
            FROM datastore_search_field AS field WHERE field.resource_id = resource.id)
    ))
    FROM datastore_search_catalogue_dataset AS dataset
    LEFT JOIN datastore_search_resource AS resource ON resource.id = dataset.resource_id
    WHERE dataset.id = dataset_id
$function$;

CREATE INDEX datastore_search_text_words ON datastore_search_catalogue_datasettext USING gin (words);

-- A search reads the words of records later (contents.py).
INSERT INTO datastore_search_catalogue_datasettext (dataset_id, resource_id, version, text, language)
SELECT dataset.id, dataset.resource_id, coalesce(resource.version, dataset.version),
    datastore_search_catalogue_text(dataset.id), ''
FROM datastore_search_catalogue_dataset AS dataset
LEFT JOIN datastore_search_resource AS resource ON resource.id = dataset.resource_id;

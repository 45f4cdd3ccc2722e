-- The datasets that have changed last, and their number, are read from indexes: rows have long texts.

CREATE INDEX datastore_search_catalogue_newest ON datastore_search_resource
(modified_at DESC NULLS LAST, id) INCLUDE (private) WHERE table_version_id IS NOT NULL;

-- The resources that are datasets by themselves, of which few have another time than the resource.
CREATE INDEX datastore_search_catalogue_single ON datastore_search_catalogue_dataset
(metadata_modified) INCLUDE (resource_id) WHERE part_of_id IS NULL AND resource_id IS NOT NULL;

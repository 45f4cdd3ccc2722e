DROP TRIGGER IF EXISTS datastore_search_version_placed ON datastore_search_resource;
DROP FUNCTION IF EXISTS datastore_search_version_placed();
DROP TABLE IF EXISTS datastore_search_scale_placed;

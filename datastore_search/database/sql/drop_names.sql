DROP TRIGGER datastore_search_name ON datastore_search_resource;
DROP TRIGGER datastore_search_name ON datastore_search_alias;
DROP FUNCTION datastore_search_check_name();

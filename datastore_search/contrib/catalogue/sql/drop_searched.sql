DROP FUNCTION datastore_search_catalogue_text(varchar);

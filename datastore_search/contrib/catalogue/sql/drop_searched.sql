DROP INDEX datastore_search_text_words;
DROP FUNCTION datastore_search_catalogue_text(varchar);

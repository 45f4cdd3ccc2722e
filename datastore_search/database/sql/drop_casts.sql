DROP FUNCTION IF EXISTS datastore_search_cast(text, text);
DROP FUNCTION IF EXISTS datastore_search_iso(timestamp);
DROP FUNCTION IF EXISTS datastore_search_elements(jsonb);

DROP FUNCTION IF EXISTS datastore_search_tsquery(text, regconfig);
DROP FUNCTION IF EXISTS datastore_search_vector(jsonb, regconfig);
DROP FUNCTION IF EXISTS datastore_search_lexemes(text, regconfig);
DROP FUNCTION IF EXISTS datastore_search_values(jsonb);
DROP FUNCTION IF EXISTS datastore_search_words(text);
